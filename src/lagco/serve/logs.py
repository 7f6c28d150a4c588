"""Logs as lines of JSON on standard error."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

#: what every record of Python's logging has
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        content: dict[str, Any] = {
            "time": f"{when}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        more = vars(record)
        content |= {k: v for k, v in more.items() if k not in _USUAL and v is not None}
        if record.exc_info:
            content["traceback"] = self.formatException(record.exc_info)
        return json.dumps(content, default=str)


def log_lines() -> None:
    """Log the service from `info` up, and uvicorn from `warning` up, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name, lowest in (("lagco.serve", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(lowest)
        logger.propagate = False
