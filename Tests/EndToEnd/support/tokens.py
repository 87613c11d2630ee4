"""Tokens made offline, like any holder of the secret can: compact JWS, HS256."""

import base64
import hashlib
import hmac
import json
import time

SECRET = "a secret of at least thirty-two bytes"


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(session, scope="read", seconds=60, secret=SECRET, header=None, **claims):
    """A token; a claim of None is left out."""
    head = header or {"alg": "HS256", "typ": "JWT"}
    body = {"sub": session, "scope": scope, "exp": int(time.time()) + seconds, **claims}
    body = {name: value for name, value in body.items() if value is not None}
    signed = ".".join(part(json.dumps(each).encode()) for each in (head, body))
    digest = {"HS384": hashlib.sha384, "HS512": hashlib.sha512}.get(head.get("alg"), hashlib.sha256)
    return f"{signed}.{part(hmac.new(secret.encode(), signed.encode(), digest).digest())}"


def bearer(text):
    return {"Authorization": f"Bearer {text}"}
