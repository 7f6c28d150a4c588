"""JSON values checked by a JSON schema, with messages that name place, value and reason.

The schemas are dictionaries or JSON files next to the code that owns the files; ``jsonschema``
checks them. A whole number is written as one: 3.0 is none here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

from lagco.errors import suggest
from lagco.store.text import canonical_json, shown

#: a JSON schema
Schema: TypeAlias = Mapping[str, Any]
#: schema of any text
TEXT: Schema = {"type": "string"}
#: schema of a whole number from 0
COUNT: Schema = {"type": "integer", "minimum": 0}
#: keys and positions that lead to a value inside a document
Place: TypeAlias = tuple[str | int, ...]

_NO_LIMIT = float("inf")


def object_of(**fields: Schema) -> Schema:
    """Schema of an object that has all of these fields, and no others."""
    return {
        "type": "object",
        "required": list(fields),
        "additionalProperties": False,
        "properties": fields,
    }


def array_of(items: Schema) -> Schema:
    """Schema of an array whose entries all fit a schema."""
    return {"type": "array", "items": items}


class Mismatch(Exception):
    """A value that does not fit its schema: the place inside the file, and the reason."""

    def __init__(self, path: Place, reason: str) -> None:
        super().__init__(f"{spelled_path(path)}: {reason}")
        self.path = path
        self.reason = reason


def check(value: Any, schema: Schema) -> None:
    """Raise a :class:`Mismatch` unless `value` fits `schema`."""
    validator = _VALIDATORS.get(id(schema))
    if validator is None or validator.schema is not schema:
        validator = _VALIDATORS[id(schema)] = _validator_class()(schema)
    error = next(validator.iter_errors(value), None)
    if error is not None:
        while error.context:  # of alternatives, say what the last one lacks
            error = error.context[-1]
        path = tuple(error.absolute_path)
        if error.validator == "uniqueItems":
            path = (*path, _first_again(error.instance))
        raise Mismatch(path, _reason(error))


def spelled_path(path: Place) -> str:
    """A place as people write it: ``hosts[3].services[0]``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the whole"


#: by identity of the schema, which the validator keeps alive
_VALIDATORS: dict[int, Any] = {}


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    types = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    return extend(Draft202012Validator, type_checker=types)


def _reason(error: Any) -> str:
    """Description of a violation, in plain words for the common keywords."""
    value, wanted, schema = error.instance, error.validator_value, error.schema
    match error.validator:
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else wanted
            return f"is {shown(value)}, it must be {' or '.join(map(_article, kinds))}"
        case "required":
            missing = next(name for name in wanted if name not in value)
            return f"has no {missing!r}"
        case "additionalProperties":
            known = schema.get("properties", {})
            extra = next(name for name in value if name not in known)
            return suggest("field", shown(extra)[1:-1], known)
        case "uniqueItems":
            return f"{shown(value[_first_again(value)])} stands there twice"
        case "minItems" | "maxItems":
            low, high = schema.get("minItems", 0), schema.get("maxItems", _NO_LIMIT)
            bounds = f"at least {low}" if len(value) < low else f"at most {high}"
            entries = "entry" if len(value) == 1 else "entries"
            return f"has {len(value)} {entries}, there must be {bounds}"
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            return f"is {shown(value)}, it must be {_range(schema)}"
        case "minLength" | "maxLength":
            low, high = schema.get("minLength", 0), schema.get("maxLength", _NO_LIMIT)
            characters = "character" if len(value) == 1 else "characters"
            return f"has {len(value)} {characters}, give {low} to {high}"
        case "const":
            return f"is {shown(value)}, this lagco reads {wanted!r}"
        case "enum":
            return f"is {shown(value)}, it must be one of {', '.join(map(repr, wanted))}"
        case _:
            return f"is {shown(value)}, which does not fit {error.validator}={shown(wanted)}"


def _article(kind: str) -> str:
    return kind if kind == "null" else f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _range(schema: Schema) -> str:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if high is None:
        return f"{'at least' if 'minimum' in schema else 'more than'} {low:g}"
    if low is None:
        return f"{'at most' if 'maximum' in schema else 'less than'} {high:g}"
    return f"{low:g} to {high:g}"


def _first_again(values: list[Any]) -> int:
    """Position of the first value that stood there before; time is linear in their number."""
    seen: set[str] = set()
    for position, value in enumerate(values):
        spelled = canonical_json(value)
        if spelled in seen:
            return position
        seen.add(spelled)
    return len(values) - 1  # 1 and 1.0, which are equal and spelled differently
