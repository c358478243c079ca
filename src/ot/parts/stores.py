"""The store of a configuration, for engines and for commands that have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.seal_keys import FollowedKeys
from ot.isolate import IsolateHost
from ot.registry.definitions import Touches
from ot.results.reader import ResultReader
from ot.results.store import ResultStore
from ot.store.opening import Backend, Retention, Store, build_backend
from ot.store.sealing import Sealer
from ot.values import Arguments


@contextmanager
def open_own_store(loaded: LoadedConfig) -> Iterator[Store]:
    """Open the store of a configuration, with a backend of its own. Raises ConfigError."""
    with open_own_backend(loaded) as backend, closing(store_of(loaded, backend)) as store:
        yield store


@contextmanager
def open_own_backend(loaded: LoadedConfig) -> Iterator[Backend]:
    """Open what the store of a configuration lies in. Raises ConfigError."""
    with closing(build_backend(loaded.config.store)) as backend:
        _learn_password(loaded, backend)
        yield backend


def store_of(loaded: LoadedConfig, backend: Backend) -> Store:
    _learn_password(loaded, backend)
    journal = loaded.config.journal
    kept = Retention(journal.keep_for, journal.max_size, journal.undo_size)
    return backend.build_store(
        state_folder(loaded.home),
        principal=loaded.principal,
        journal=kept,
        sealer=sealer_of(loaded),
        alone=loaded.administrator is None,
    )


def sealer_of(loaded: LoadedConfig) -> Callable[[], Sealer]:
    """Return what gives the keys of the server as they are now, from the first need on; it raises ConfigError."""
    return FollowedKeys(loaded.config, state_folder(loaded.machine_home))


def _learn_password(loaded: LoadedConfig, backend: Backend) -> None:
    if backend.password:
        loaded.redactor.learn(backend.password)  # whether it came from a secret or stands in the address


def build_results(loaded: LoadedConfig, store: Store) -> ResultStore:
    """Build the store of results; nothing is read or made before it is used."""
    return ResultStore(store.results, loaded.config.results, redactor=loaded.redactor)


def build_result_reader(loaded: LoadedConfig, results: ResultStore, isolates: IsolateHost) -> ResultReader:
    """Build the reader of stored results; what may take long is done in a helper that can read nothing else."""

    async def read_apart(module: str, function: str, arguments: Arguments) -> object:
        folder = Path(str(arguments["file"])).parent
        found: object = await isolates.run(module, function, arguments, touches=Touches(reads=(str(folder),)))
        return found

    return ResultReader(results, loaded.config.results, apart=read_apart)
