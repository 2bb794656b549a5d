"""A processor which opens WS-Security envelopes by lxml and xmlsec, the XML libraries in C, from Python."""

import base64
import hashlib
import time
from datetime import datetime, timezone
from xml.sax.saxutils import escape

import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from lxml import etree

from wire import require, serve

NS = {
    "soap": "http://schemas.xmlsoap.org/soap/envelope/",
    "wsse": "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd",
    "wsu": "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd",
    "ds": "http://www.w3.org/2000/09/xmldsig#",
    "xenc": "http://www.w3.org/2001/04/xmlenc#",
    "xenc11": "http://www.w3.org/2009/xmlenc11#",
}
DIGEST = {
    "http://www.w3.org/2000/09/xmldsig#sha1": hashes.SHA1,
    "http://www.w3.org/2001/04/xmlenc#sha256": hashes.SHA256,
}
MASK = {
    "http://www.w3.org/2009/xmlenc11#mgf1sha1": hashes.SHA1,
    "http://www.w3.org/2009/xmlenc11#mgf1sha256": hashes.SHA256,
}
EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
CLOCK_SKEW = 60


def one(node, path):
    found = node.xpath(path, namespaces=NS)
    require(len(found) == 1, f"{len(found)} of {path}")
    return found[0]


def binary(node):
    return base64.b64decode(node.text)


def name_of(node):
    return etree.QName(node).localname


def is_a(node, prefix, name):
    return node.tag == f"{{{NS[prefix]}}}{name}"


def key_identifier(certificate):
    return x509.SubjectKeyIdentifier.from_public_key(certificate.public_key()).digest


def text(value):
    """A text node in canonical form."""
    return escape(value or "", {"\r": "&#xD;"})


def by_id(root, value):
    found = [node for node in root.iter("*") if value in (node.get("Id"), node.get(f"{{{NS['wsu']}}}Id"))]
    require(len(found) == 1, f"{len(found)} elements of one Id")
    return found[0]


def seconds(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc).timestamp()


class Receiver:
    def __init__(self, keys):
        self.users = keys.users
        self.key = serialization.load_pem_private_key(keys.processor_key.encode(), None)
        self.own = x509.load_pem_x509_certificate(keys.processor_certificate.encode())
        self.merchant = x509.load_pem_x509_certificate(keys.merchant_certificate.encode())
        self.verifier = xmlsec.Key.from_memory(keys.merchant_certificate, xmlsec.KeyFormat.CERT_PEM)

    def __call__(self, message):
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        root = etree.fromstring(message[0].encode("utf-8"), parser)
        require(not root.getroottree().docinfo.doctype and is_a(root, "soap", "Envelope"), "no envelope")
        at = int(message[1]) / 1000 if message[1] else time.time()
        security = one(root, "soap:Header/wsse:Security[@soap:mustUnderstand='1']")
        actions, signed, encrypted = self.process(root, security)
        body = one(root, "soap:Body")
        user = self.check_user(security, at)
        self.check_time(one(security, "wsu:Timestamp"), at)
        for needed in [body, *security.xpath("wsu:Timestamp|wsse:BinarySecurityToken|wsse:UsernameToken", namespaces=NS)]:
            require(any(node is needed for node in signed), f"the {name_of(needed)} is not signed")
        require("Body" in encrypted, "the Body is not encrypted")
        names = [name_of(node) for node in signed]
        return [",".join(actions), ",".join(names), ",".join(encrypted), *self.content(body), user]

    def process(self, root, security):
        actions, signed, encrypted = [], [], []
        for position in range(len(security)):
            node = security[position]
            if is_a(node, "xenc", "EncryptedKey"):
                encrypted += self.decrypt_all(root, node)
            elif is_a(node, "ds", "Signature"):
                signed += self.verify(root, node)
            actions.append("Encrypt" if is_a(node, "xenc", "EncryptedKey") else name_of(node))
        return actions, signed, encrypted

    @staticmethod
    def content(body):
        inner, canonical = body.text or "", text(body.text)
        for child in body:
            inner += etree.tostring(child, encoding="unicode")
            canonical += etree.tostring(child, method="c14n", exclusive=True, with_comments=False, with_tail=False).decode() + text(child.tail)
        return [inner, canonical]

    def decrypt_all(self, root, encrypted_key):
        identifier = one(encrypted_key, "ds:KeyInfo/wsse:SecurityTokenReference/wsse:KeyIdentifier")
        require(binary(identifier) == key_identifier(self.own), "the identifier of another key")
        wrapped = binary(one(encrypted_key, "xenc:CipherData/xenc:CipherValue"))
        session = self.key.decrypt(wrapped, self.padding_of(one(encrypted_key, "xenc:EncryptionMethod")))
        names = []
        for uri in encrypted_key.xpath("xenc:ReferenceList/xenc:DataReference/@URI", namespaces=NS):
            names.append(self.decrypt(by_id(root, uri[1:]), session))
        return names

    @staticmethod
    def padding_of(method):
        algorithm = method.get("Algorithm")
        if algorithm == NS["xenc"] + "rsa-1_5":
            return padding.PKCS1v15()
        require(algorithm in (NS["xenc"] + "rsa-oaep-mgf1p", NS["xenc11"] + "rsa-oaep"), f"transport {algorithm}")
        digests = method.xpath("ds:DigestMethod/@Algorithm", namespaces=NS)
        masks = method.xpath("xenc11:MGF/@Algorithm", namespaces=NS)
        mask = MASK[masks[0]] if masks else hashes.SHA1
        digest = DIGEST[digests[0]] if digests else hashes.SHA1
        return padding.OAEP(padding.MGF1(mask()), digest(), None)

    @staticmethod
    def decrypt(data, session):
        require(is_a(data, "xenc", "EncryptedData"), "no EncryptedData")
        parent, index = data.getparent(), data.getparent().index(data)
        is_content = data.get("Type") == NS["xenc"] + "Content"
        context = xmlsec.EncryptionContext()
        context.key = xmlsec.Key.from_binary_data(xmlsec.KeyData.AES, session)
        context.decrypt(data)
        return name_of(parent) if is_content else name_of(parent[index])

    def verify(self, root, signature):
        self.check_signer(root, one(signature, "ds:KeyInfo/wsse:SecurityTokenReference"))
        xmlsec.tree.add_ids(root, ["Id"])
        context = xmlsec.SignatureContext()
        context.key = self.verifier
        context.verify(signature)
        covered = []
        for reference in signature.xpath("ds:SignedInfo/ds:Reference", namespaces=NS):
            transforms = reference.xpath("ds:Transforms/ds:Transform/@Algorithm", namespaces=NS)
            require(transforms == [EXCLUSIVE] and reference.get("URI")[0] == "#", "transforms of a reference")
            covered.append(by_id(root, reference.get("URI")[1:]))
        return covered

    def check_signer(self, root, reference):
        direct = reference.xpath("wsse:Reference/@URI", namespaces=NS)
        if not direct:
            require(binary(one(reference, "wsse:KeyIdentifier")) == key_identifier(self.merchant), "another signer")
            return
        der = self.merchant.public_bytes(serialization.Encoding.DER)
        require(binary(by_id(root, direct[0][1:])) == der, "not the merchant's certificate")

    @staticmethod
    def check_time(timestamp, at):
        created = seconds(one(timestamp, "wsu:Created").text)
        expires = seconds(one(timestamp, "wsu:Expires").text)
        require(created <= at + CLOCK_SKEW and at < expires, "the message has expired")

    def check_user(self, security, at):
        tokens = security.xpath("wsse:UsernameToken", namespaces=NS)
        if not tokens:
            return ""
        user = one(tokens[0], "wsse:Username").text
        given = one(tokens[0], "wsse:Password")
        known = self.users.get(user)
        require(known is not None, "an unknown user")
        expected = known
        if given.get("Type").endswith("#PasswordDigest"):
            nonce, created = one(tokens[0], "wsse:Nonce"), one(tokens[0], "wsu:Created").text
            require(abs(seconds(created) - at) <= 300, "the token has expired")
            digest = hashlib.sha1(binary(nonce) + created.encode() + known.encode()).digest()
            expected = base64.b64encode(digest).decode()
        require(given.text == expected, "another password")
        return user


serve(Receiver)
