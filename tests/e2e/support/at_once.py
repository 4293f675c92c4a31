"""Commands of a test that do not need each other: most of their time they wait for MPI to start."""

import concurrent.futures

MAX_COMMANDS = 4


def at_once(place, *commands):
    """What each command prints, in their order; `place` starts them and rejects those that fail."""
    with concurrent.futures.ThreadPoolExecutor(MAX_COMMANDS) as threads:
        return list(threads.map(lambda command: place.ziggurat(*command), commands))
