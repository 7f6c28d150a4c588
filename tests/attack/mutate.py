"""Mutations of bytes, texts, JSON values and arrays; all are drawn from one random stream."""

from __future__ import annotations

import copy
import gzip
import json
import re

import numpy as np

#: JSON values of every type, and extremes of each
VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 64, 255, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63)),
    *(
        10**12,
        10**30,
        0.5,
        -0.0,
        1e-320,
        1e15,
        1e308,
        -1e308,
        3.0,
        "",
        "0",
        "tsp",
        "nan",
        "a" * 600,
    ),
    *("nearest", "os:system", "rule:os:system", "../../x", "\x00", "é\u2028", "projection", "full"),
    *([], {}, [[]], [None], [0] * 5, {"": 0}, {"low": 1, "high": 0}, [1e308, 1e308], ["a", "a"]),
]
#: what stands in the place of a word of a text
WORDS = [
    *(
        "",
        "0",
        "-1",
        "1",
        "1e999",
        "nan",
        "inf",
        "-inf",
        "1e308",
        "99999999999999999999",
        "2147483648",
    ),
    *(
        "0x10",
        "1_0",
        "½",
        "٣",
        "1.5",
        "EOF",
        "\x00",
        "\ufeff",
        "\n\n",
        " ",
        '"',
        "'",
        "{",
        "}",
        "[" * 3000,
    ),
    *(
        "<!DOCTYPE a [<!ENTITY b 'c'>]>",
        "&b;",
        "<a>",
        "</a>",
        "=",
        ",",
        ";",
        "#",
        "a" * 3000,
        "p",
        "e",
        "\\u0000",
    ),
    *(
        "9" * 5000,
        "1979-05-27T07:32:00Z",
        "\ud7ff",
        "[[x]]",
        "a.b.c",
        "true",
        "\r",
        "(",
        ")",
        "$",
        "%s",
    ),
]
#: tokens on which a pattern that can match a run in two ways takes square time
LONG_WORDS = [
    start + part * (20_000 * times // len(part)) + end
    for times in (1, 2)
    for start, part, end in (
        ("", "9", "x"), ("", "9", ""), ("0.", "9", "x"), ("-", "0", "."), ("1e", "9", "-"),
        ("", "a", ":"), ("", " ", "x"), ("", "\n", "x"), ("", "\t \n", "("), ("", "(", ""),
        ("", "9 ", "x"), ("c", "\nc", ""), ("", "a.", "="), ('"', "\\\\", '"'),
    )
]  # fmt: skip
#: JSON texts that no value is written as
SPELLINGS = [
    "NaN",
    "Infinity",
    "1e999",
    "-1e999",
    "9" * 5000,
    "[" * 5000,
    '"\\ud800"',
    '{"a":1,"a":2}',
    "1.",
    "tru",
]


def mutated_bytes(rng, content):
    """One to four changes of bytes, runs of them, or the whole."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        change = rng.randrange(8)
        if change <= 2 and data:
            at = min(at, len(data) - 1)
            data[at] = data[at] ^ (1 << rng.randrange(8)) if change else rng.randrange(256)
        elif change == 3:
            data[at:at] = rng.randbytes(rng.choice((1, 2, 8, 64)))
        elif change == 4:
            del data[at : at + rng.choice((1, 2, 8, 64))]
        elif change == 5:
            del data[at if rng.random() < 0.5 else end :]
        elif change == 6:
            data[at:at] = data[at : at + 64]
        else:
            data[at : at + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, b"\0" * 7 + b"\x7f"))
    return bytes(data)


def mutated_text(rng, content):
    """Changes of words and lines; at times in another encoding, or packed."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return mutated_bytes(rng, content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = _other_lines(rng, text) if rng.random() < 0.3 else _other_word(rng, text)
    encoding = rng.choice(("utf-8",) * 20 + ("utf-16", "latin-1", "utf-8-sig"))
    content = text.encode(encoding, "replace")
    return gzip.compress(content, 1, mtime=0) if rng.random() < 0.03 else content


def _other_word(rng, text):
    words = re.findall(r"[\w.+-]+|\s+|.", text)
    if not words:
        return rng.choice(WORDS)
    at = rng.randrange(len(words))
    words[at] = rng.choice(WORDS) if rng.random() < 0.6 else rng.choice(words)
    return "".join(words)


def with_long_token(rng, content):
    """A text with 20000 to 40000 characters in the place of a word; at times packed."""
    try:
        words = re.findall(r"[\w.+-]+|\s+|.", content.decode()) or [""]
    except UnicodeDecodeError:
        return mutated_bytes(rng, content)
    for _ in range(rng.choice((1, 1, 2))):
        words[rng.randrange(len(words))] = rng.choice(LONG_WORDS)
    content = "".join(words).encode()
    return gzip.compress(content, 1, mtime=0) if rng.random() < 0.2 else content


def _other_lines(rng, text):
    lines = text.splitlines(keepends=True) or [""]
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(4)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines.insert(at, lines[other])
    elif change == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        del lines[at:]
    return "".join(lines)


def mutated_json(rng, value):
    """A copy of a JSON value with one to three places changed."""
    root = [copy.deepcopy(value)]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        _change_place(rng, root)
    return root[0]


def misspelled(rng, value):
    """A JSON text in which one value is spelled as none can be."""
    root, mark = [copy.deepcopy(value)], "@@here@@"
    holder, key = rng.choice(_places(root))
    holder[key] = mark
    return json.dumps(root[0]).replace(f'"{mark}"', rng.choice(SPELLINGS)).encode()


def _places(root):
    found, stack = [], [root]
    while stack:
        holder = stack.pop()
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        for key in keys[:40]:  # long lists are alike
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                stack.append(holder[key])
    return found


def _change_place(rng, root):
    places = _places(root)
    holder, key = rng.choice(places)
    old = holder[key]
    change = rng.randrange(10)
    if change <= 3:
        holder[key] = copy.deepcopy(rng.choice(VALUES))
    elif change == 4 and holder is not root:
        del holder[key]
    elif change == 5 and isinstance(old, int | float) and not isinstance(old, bool):
        holder[key] = rng.choice(
            (old + 1, old - 1, -old, old * 2, float(old), old * 10**9, old / 2)
        )
    elif change == 6 and isinstance(holder, dict):
        holder[rng.choice(("extra", "", "sha256", key + " ", key.upper()))] = copy.deepcopy(old)
    elif change == 6 and isinstance(old, list):
        old.append(copy.deepcopy(rng.choice(old or VALUES)))
    elif change == 7:
        deep = copy.deepcopy(old)
        for _ in range(rng.choice((1, 2, 30, 70, 300))):
            deep = [deep] if rng.random() < 0.5 else {"a": deep}
        holder[key] = deep
    elif change == 8:
        other, place = rng.choice(places)
        try:
            holder[key] = copy.deepcopy(other[place])
        except LookupError:
            holder[key] = None
    elif isinstance(old, list) and old:
        old[:] = rng.choice((old[::-1], old * 2, old[:-1], old[1:]))
    elif isinstance(old, dict) and isinstance(holder, dict):
        holder[key] = dict(reversed(old.items()))
    else:
        holder[key] = copy.deepcopy(rng.choice(VALUES))


def mutated_arrays(rng, arrays):
    """A copy of arrays by name, of which one has another shape, type, values or name."""
    found = dict(arrays)
    if not found:
        return {"extra": np.zeros(3, np.float32)}
    name = rng.choice(sorted(found))
    array = found[name]
    change = rng.randrange(7)
    if change == 0:
        del found[name]
    elif change == 1:
        found[rng.choice((name + "x", "extra", "q.0.weight"))] = array
    elif change == 2:
        other = rng.choice(sorted(found))
        found[name], found[other] = found[other], found[name]
    elif change == 3:
        kinds = ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?")
        with np.errstate(all="ignore"):
            found[name] = (
                array.astype(rng.choice(kinds)) if array.dtype.kind in "biuf" else array[:0]
            )
    elif change == 4:
        found[name] = _other_shape(rng, array)
    else:
        found[name] = _other_values(rng, array)
    return found


def with_extreme_tensor(rng, arrays):
    """A copy of arrays by name, of which one or more hold numbers as large as there are."""
    found = dict(arrays)
    real = [name for name, array in found.items() if array.dtype.kind == "f" and array.size]
    if not real:
        return mutated_arrays(rng, arrays)
    for name in rng.sample(sorted(real), min(len(real), rng.choice((1, 1, 2, len(real))))):
        array = found[name].copy()
        value = rng.choice((3e38, -3e38, 1e30, 9.9e14, -9.9e14, 1e12, 1e-38, 1e-45, 0.0))
        value = float(np.clip(value, np.finfo(array.dtype).min, np.finfo(array.dtype).max))
        if rng.random() < 0.6:
            array[...] = value
        else:
            array *= array.dtype.type(value)
        found[name] = array
    return found


def _other_shape(rng, array):
    change = rng.randrange(8)
    if change == 0 or not array.ndim:
        return array.reshape(-1)
    if change == 1:
        return np.ascontiguousarray(array.T)
    if change == 2:
        return array[None]
    axis = rng.randrange(array.ndim)
    if change == 3:
        return np.ascontiguousarray(np.take(array, range(max(array.shape[axis] - 1, 0)), axis))
    if change == 4:
        return np.concatenate([array, array], axis)
    if change == 5:
        return np.ascontiguousarray(np.take(array, range(0), axis))
    if change == 6:
        return np.zeros((*array.shape[:-1], 40_000 // max(1, array.size // 50)), array.dtype)
    return array[(0,) * array.ndim] if array.size else array[None]


def _other_values(rng, array):
    array = array.copy()
    if not array.size or array.dtype.kind not in "biuf":
        return array[:0] if array.ndim else array
    values = [0, 1, 2, 5, 100] if array.dtype.kind == "b" else [0, 1, 3, 100]
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        values += [limits.min, limits.max, array.size]
    elif array.dtype.kind == "f":
        limits = np.finfo(array.dtype)
        values += [np.nan, np.inf, -np.inf, limits.max, limits.min, limits.tiny, -1, 0.5, 1e4, 1e30]
    value = rng.choice(values)
    with np.errstate(all="ignore"):
        if rng.random() < 0.3:
            array[...] = value
        else:
            array.reshape(-1)[rng.randrange(array.size)] = value
    return array
