"""The process of the server: uvicorn on a socket that is there already, workers that come in."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from contextlib import suppress

import uvicorn

from lagco.runtime.parents import end_with
from lagco.serve.options import ServeOptions
from lagco.serve.serving.application import application
from lagco.serve.serving.guard import Tokens
from lagco.serve.serving.pool import Pool
from lagco.serve.serving.service import Service
from lagco.serve.storing.journal import Journal

log = logging.getLogger("lagco.serve")
#: seconds that requests may take when the service ends
_ENDING = 5
#: seconds that connections without requests are kept
_KEPT = 75
#: seconds that one thread of the server may hold up the other: the one that writes to the store
#: needs the interpreter for every statement, and gets it so late by default (5 ms) that answers
#: would come after their deadlines
_TURN = 0.0005
#: connections that wait to be taken
_BACKLOG = 2048


def run_server(
    listening: socket.socket, workers: socket.socket, options: ServeOptions, parent: int
) -> None:
    """Serve until SIGTERM.

    Args:
        listening: where clients come in.
        workers: where workers come in.
        options: of the service.
        parent: process with which this one ends.
    """
    end_with(parent)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    sys.setswitchinterval(_TURN)
    asyncio.run(_serve(listening, workers, options))


async def _serve(listening: socket.socket, workers: socket.socket, options: ServeOptions) -> None:
    pool = Pool(options.processes, options.queue)
    journal = Journal(options.store)
    service = Service(pool, journal, options)
    tokens = None if options.tokens is None else Tokens.of(options.tokens)
    config = uvicorn.Config(
        application(service, options, tokens),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing asks where a request comes from
        lifespan="off",
        loop="asyncio",
        backlog=_BACKLOG,
        timeout_keep_alive=_KEPT,
        timeout_graceful_shutdown=_ENDING,
        h11_max_incomplete_event_size=1 << 16,
    )
    coming = await asyncio.start_unix_server(pool.welcome, sock=workers)
    log.info("serving", extra={"pid": os.getpid(), "instances": len(service.lives)})
    try:
        await uvicorn.Server(config).serve(sockets=[listening])
    finally:
        coming.close()
        with suppress(Exception):
            journal.close()
