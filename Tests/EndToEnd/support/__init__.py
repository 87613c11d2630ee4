"""Shared by the end-to-end tests: a running server, clients, models of what a client shows."""
