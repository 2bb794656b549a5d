"""What receivers and their test say to each other: lines of tab separated base64 fields.

A line begins with the number of the receiver that it is for. Its first line are its keys, every further one a message;
each is answered by one line, "ok" with fields or "no" with the reason.
"""

import base64
import sys


def _decode(line):
    return [base64.b64decode(field).decode("utf-8") for field in line.rstrip("\n").split("\t")]


def _encode(fields):
    return "\t".join(base64.b64encode(field.encode("utf-8")).decode("ascii") for field in fields)


class Keys:
    """What a receiver holds: its own key, and what it knows of the merchant."""

    def __init__(self, fields):
        self.processor_key, self.processor_certificate, self.merchant_certificate, self.merchant_key = fields[:4]
        self.users = dict(line.split("\t", 1) for line in fields[4].split("\n") if line)


class Refused(Exception):
    pass


def require(holds, otherwise):
    if not holds:
        raise Refused(otherwise)


def _answer(opener, message):
    try:
        return "ok\t" + _encode(opener(message))
    except Exception as failure:
        return "no\t" + _encode([f"{type(failure).__name__}: {failure}"])


def serve(make):
    openers = {}
    for line in sys.stdin:
        number, *fields = _decode(line)
        if number in openers:
            print(_answer(openers[number], fields), flush=True)
        else:
            openers[number] = make(Keys(fields))
            print("ok", flush=True)
