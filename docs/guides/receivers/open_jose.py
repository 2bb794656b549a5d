"""python3 open_jose.py RESPONSE PROCESSOR_PRIVATE_KEY MERCHANT_PUBLIC_KEY

Opens a response of POST /proxy/jose and prints the payload. Needs jwcrypto.
"""
import json
import sys

from jwcrypto import jwe, jwk, jws

# The algorithms agreed with the merchant. No other is accepted, whatever a message names.
SIGNED = ["RS256"]
ENCRYPTED = ["RSA-OAEP-256", "A256GCM"]


def verify(compact, key):
    token = jws.JWS()
    token.allowed_algs = SIGNED
    token.deserialize(compact, key)
    return token.payload


def decrypt(compact, key):
    token = jwe.JWE(algs=ENCRYPTED)
    token.deserialize(compact, key)
    return token.payload


response, private_key, public_key = (open(file, "rb").read() for file in sys.argv[1:])
message = json.loads(response)["data"]
processor = jwk.JWK.from_pem(private_key)
merchant = jwk.JWK.from_pem(public_key)

# 1. Verify the merchant's signature. It is over the ciphertext: nothing is decrypted before it was verified.
if verify(message["encryption"], merchant).decode() != message["value"]:
    sys.exit("the signature is over another value")

# 2. Decrypt.
plaintext = decrypt(message["value"], processor)

# 3. Verify the signature over the payload itself. With jose.payload=plain there is none: the plaintext is the payload.
sys.stdout.buffer.write(verify(plaintext.decode(), merchant))
