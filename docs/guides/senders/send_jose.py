"""KEY=... python3 send_jose.py URL PAYLOAD CA

Sends a payload to POST /proxy/jose and prints the response. Needs nothing but Python.
"""
import os
import ssl
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

url, file, ca = sys.argv[1:]
with open(file, "rb") as payload:
    headers = {"ft-access-key": os.environ["KEY"], "content-type": "application/json"}
    request = Request(url, payload.read(), headers)
try:
    with urlopen(request, timeout=30, context=ssl.create_default_context(cafile=ca)) as response:
        sys.stdout.buffer.write(response.read())
except HTTPError as refusal:
    # Its text names the field or the placeholder, and never a value.
    sys.exit(f"{refusal.code} {refusal.read().decode()}")
