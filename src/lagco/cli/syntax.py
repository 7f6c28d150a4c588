"""Messages in the syntax of the command line: ``--episodes 0`` for ``episodes=0``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def _names_of(command: Any) -> Sequence[str]:
    """Names of the commands of a group; empty for a plain command."""
    listed: Sequence[str] = command.list_commands(None) if hasattr(command, "list_commands") else ()
    return listed


def in_command_syntax(text: str, command: Any, words: Sequence[str]) -> str:
    """A message with the arguments of the command that was called spelled as it takes them.

    Args:
        text: a message that spells arguments as Python does.
        command: the whole command line.
        words: what was typed.
    """
    for word in words:
        if word in _names_of(command):
            command = command.get_command(None, word)
    spelled: dict[str, str] = {}
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        long = [name for name in parameter.opts if name.startswith("--")]
        name = (long or parameter.opts)[0] if is_option else (parameter.name or "").upper()
        spelled[parameter.name or ""] = name
    if not spelled:
        return text
    names = "|".join(map(re.escape, spelled))
    # neither inside a call nor behind a dot, where the words are those of a declaration
    pattern = rf"(?<![\w.(])({names})=('[^']*'|[^\s,;:()]*)"

    def replaced(match: re.Match[str]) -> str:
        value = match[2].strip("'")
        return f"{spelled[match[1]]} {value}".rstrip()

    quoted = re.search(r", line \d+: ", text)  # the user's own line stays as it is
    end = len(text) if quoted is None else quoted.end()
    return re.sub(pattern, replaced, text[:end]) + text[end:]
