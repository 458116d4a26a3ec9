# SPDX-License-Identifier: Apache-2.0
"""Chakra execution traces written as JSON, so that a case can be read: {"nodes": [{"id", "name", "type", "us", "at_us",
"after": […], "attributes": {…}}]}. Field numbers are those of et_def.proto of mlcommons/chakra; nothing of the importer is
used."""
import json

from xspace_text import message, number, varint

TYPES = {"metadata": 1, "load": 2, "store": 3, "compute": 4, "send": 5, "receive": 6, "collective": 7}


def attribute(name, value):
    if isinstance(value, str):
        return message(1, name) + message(29, value)
    return message(1, name) + number(9, value)  # int64


def node(value):
    out = number(1, value["id"]) + message(2, value["name"]) + number(3, TYPES[value["type"]])
    if value.get("after"):
        out += message(5, b"".join(varint(each) for each in value["after"]))  # data_deps
    for field, name in ((6, "at_us"), (7, "us")):
        if name in value:
            out += number(field, value[name])
    for name, content in value.get("attributes", {}).items():
        out += message(10, attribute(name, content))
    return out


def delimited(content):
    return varint(len(content)) + content


def chakra(text):
    """The bytes of a file: the metadata, then each node, with their lengths before them."""
    return delimited(message(1, "0.0.4")) + b"".join(delimited(node(each)) for each in json.loads(text)["nodes"])
