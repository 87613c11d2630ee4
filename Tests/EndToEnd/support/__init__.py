"""What the end-to-end tests share: a running server, clients, models of what a client shows."""
