"""A processor which opens JOSE by jwcrypto."""

import json

from jwcrypto import jwe, jwk, jws

from wire import require, serve

SIGNATURES = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
ENCRYPTIONS = ["RSA-OAEP", "RSA-OAEP-256", "A128GCM", "A256GCM", "A128CBC-HS256", "A256CBC-HS512"]


class Receiver:
    def __init__(self, keys):
        self.own = jwk.JWK.from_pem(keys.processor_key.encode())
        self.merchant = jwk.JWK.from_pem(keys.merchant_key.encode())
        self.own_name = self.own.thumbprint()
        self.merchant_name = self.merchant.thumbprint()

    def __call__(self, message):
        value, encryption, mode = message
        encryption_header = ""
        if encryption:
            encryption_header, signed = self.verify(encryption)
            require(signed == value, "encryption is of another value")
        header, plaintext = self.decrypt(value)
        require((json.loads(header).get("cty") == "JWT") == (mode != "plain"), "cty does not fit what is inside")
        inner_header, payload = ("", plaintext) if mode == "plain" else self.verify(plaintext)
        return [payload, header, inner_header, encryption_header]

    def decrypt(self, value):
        token = jwe.JWE(algs=ENCRYPTIONS)
        token.deserialize(value, self.own)
        require(token.jose_header.get("kid") == self.own_name, "kid of another key")
        return json.dumps(token.jose_header), token.payload.decode("utf-8")

    def verify(self, compact):
        token = jws.JWS()
        token.allowed_algs = SIGNATURES
        token.deserialize(compact, self.merchant)
        require(token.jose_header.get("kid") == self.merchant_name, "kid of another key")
        require(token.jose_header.get("typ") == "JWT", "typ")
        return json.dumps(token.jose_header), token.payload.decode("utf-8")


serve(Receiver)
