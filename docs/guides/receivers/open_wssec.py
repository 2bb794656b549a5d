"""python3 open_wssec.py ENVELOPE PROCESSOR_PRIVATE_KEY MERCHANT_CERTIFICATE

Opens an envelope of POST /proxy/wssec (default settings) and prints the payload. Needs lxml, xmlsec, cryptography.
"""
import base64
import datetime
import sys

import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from lxml import etree

OASIS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-"
NS = {
    "soap": "http://schemas.xmlsoap.org/soap/envelope/",
    "wsse": OASIS + "secext-1.0.xsd",
    "wsu": OASIS + "utility-1.0.xsd",
    "ds": "http://www.w3.org/2000/09/xmldsig#",
    "xenc": "http://www.w3.org/2001/04/xmlenc#",
}
EXCLUSIVE_C14N = "http://www.w3.org/2001/10/xml-exc-c14n#"
RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
SHA256 = NS["xenc"] + "sha256"
CLOCK_SKEW = datetime.timedelta(seconds=60)


def require(holds, otherwise):
    if not holds:
        sys.exit(otherwise)


def only(node, path):
    """The one element at the end of a path; two of a name are refused."""
    found = node.xpath(path, namespaces=NS)
    require(len(found) == 1, f"{len(found)} of {path}")
    return found[0]


def content(node):
    return base64.b64decode(node.text)


def time(node):
    return datetime.datetime.fromisoformat(node.text.replace("Z", "+00:00"))


def validity(certificate):
    try:
        return certificate.not_valid_before_utc, certificate.not_valid_after_utc
    except AttributeError:  # cryptography before 42
        utc = datetime.timezone.utc
        return certificate.not_valid_before.replace(tzinfo=utc), certificate.not_valid_after.replace(tzinfo=utc)


def ids(root):
    """Elements by id. Two elements of one id are an attack."""
    found = {}
    for node in root.iter("*"):
        for value in filter(None, (node.get("Id"), node.get(f"{{{NS['wsu']}}}Id"))):
            require(value not in found, "an id twice")
            found[value] = node
    return found


def covered(signature, by_id):
    """The elements that the signature is over. The algorithms are those that were agreed, and no others."""
    info = only(signature, "ds:SignedInfo")
    require(only(info, "ds:CanonicalizationMethod").get("Algorithm") == EXCLUSIVE_C14N, "canonical form")
    require(only(info, "ds:SignatureMethod").get("Algorithm") == RSA_SHA256, "signature algorithm")
    elements = []
    for reference in info.xpath("ds:Reference", namespaces=NS):
        require(only(reference, "ds:Transforms/ds:Transform").get("Algorithm") == EXCLUSIVE_C14N, "transform")
        require(only(reference, "ds:DigestMethod").get("Algorithm") == SHA256, "digest algorithm")
        uri = reference.get("URI", "")
        require(uri.startswith("#"), "a reference elsewhere")
        elements.append(by_id.get(uri[1:]))
    return elements


envelope, private_key, merchant = (open(file, "rb").read() for file in sys.argv[1:])
processor = serialization.load_pem_private_key(private_key, None)
certificate = x509.load_pem_x509_certificate(merchant)
root = etree.fromstring(envelope, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))
require(not root.getroottree().docinfo.doctype, "a DOCTYPE")
require(root.tag == f"{{{NS['soap']}}}Envelope", "no envelope")
security = only(root, "soap:Header/wsse:Security")
body = only(root, "soap:Body")
timestamp = only(security, "wsu:Timestamp")
token = only(security, "wsse:BinarySecurityToken")

# 1. Verify the signature by the certificate of the merchant and by no other.
signature = only(security, "ds:Signature")
elements = covered(signature, ids(root))
xmlsec.tree.add_ids(root, ["Id"])
context = xmlsec.SignatureContext()
context.key = xmlsec.Key.from_memory(merchant, xmlsec.KeyFormat.CERT_PEM)
context.verify(signature)

# 2. Check what it covers: the very elements that are used here, not others of the same name or id.
for needed in (body, timestamp, token):
    require(any(element is needed for element in elements), f"the {needed.tag} is not signed")

# 3. Check signer and time. Store accepted signatures until they expire, and accept none twice.
now = datetime.datetime.now(datetime.timezone.utc)
der = certificate.public_bytes(serialization.Encoding.DER)
require(content(token) == der, "the certificate is another one")
begin, end = validity(certificate)
require(begin <= now < end, "the certificate is not valid now")
fresh = time(only(timestamp, "wsu:Created")) <= now + CLOCK_SKEW and now < time(only(timestamp, "wsu:Expires"))
require(fresh, "the envelope is not of this time")

# 4. Decrypt. The key is not signed: with another one the tag of the content is invalid.
require(len(body) == 1 and not body.text and not body[0].tail, "the Body contains more than its content")
wrapped = content(only(security, "xenc:EncryptedKey/xenc:CipherData/xenc:CipherValue"))
sealed = content(only(body, "xenc:EncryptedData/xenc:CipherData/xenc:CipherValue"))
key = processor.decrypt(wrapped, padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None))
sys.stdout.buffer.write(AESGCM(key).decrypt(sealed[:12], sealed[12:], None))
