"""The start of `encodings` in the tree: every interpreter of it, with `-I -S` too, finds what one on macOS would find."""

_GONE: dict = {}  # by module, the names that only Linux has


def _play_macos(gone):
    import posix
    import sys

    real = posix.uname()
    machine = "arm64" if real.machine == "aarch64" else real.machine
    told = posix.uname_result(("Darwin", real.nodename, "24.5.0", "Darwin Kernel Version 24.5.0", machine))
    posix.uname = lambda: told
    sys.platform = "darwin"

    def change(module):
        for name in gone.get(module.__name__, ()):
            if hasattr(module, name):
                delattr(module, name)
        if module.__name__ == "platform":
            module.mac_ver = lambda *_: ("15.5", ("", "", ""), machine)

    class Changed:
        """A loader that changes what another one has loaded."""

        def __init__(self, loader):
            self.loader = loader

        def create_module(self, spec):
            return self.loader.create_module(spec)

        def exec_module(self, module):
            self.loader.exec_module(module)
            change(module)

        def __getattr__(self, name):
            return getattr(self.loader, name)

    class Finder:
        """Finds what others find, and what only macOS has."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "_scproxy":  # what the system's settings say about proxies
                from importlib.machinery import ModuleSpec

                return ModuleSpec(name, NoProxies)
            if name in gone or name == "platform":
                others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not Finder)
                if (spec := next(filter(None, others), None)) is not None:
                    spec.loader = Changed(spec.loader)
                return spec
            return None

    class NoProxies:
        """The loader of `_scproxy`."""

        @staticmethod
        def create_module(_):
            return None

        @staticmethod
        def exec_module(module):
            module._get_proxies = module._get_proxy_settings = dict

    for name in gone:
        if name in sys.modules:
            change(sys.modules[name])
    sys.meta_path.insert(0, Finder)


_play_macos(_GONE)
del _play_macos, _GONE
