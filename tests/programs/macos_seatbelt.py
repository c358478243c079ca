"""At the end of `encodings` in a tree that plays macOS: every interpreter of it finds another program as sandbox-exec."""

SANDBOX_EXEC = ""


def _give_sandbox_exec(program):
    import sys

    class Changed:
        """A loader that changes what another one has loaded."""

        def __init__(self, loader):
            self.loader = loader

        def create_module(self, spec):
            return self.loader.create_module(spec)

        def exec_module(self, module):
            self.loader.exec_module(module)
            module.SANDBOX_EXEC = program

        def __getattr__(self, name):
            return getattr(self.loader, name)

    class Finder:
        """Finds what others find."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            if name != "ot_confinement.seatbelt":
                return None
            others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not Finder)
            if (spec := next(filter(None, others), None)) is not None:
                spec.loader = Changed(spec.loader)
            return spec

    sys.meta_path.insert(0, Finder)


_give_sandbox_exec(SANDBOX_EXEC)
del _give_sandbox_exec, SANDBOX_EXEC
