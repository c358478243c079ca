"""Registries of packages: where they are, how they are asked, and what their answers say.

A project's own files never choose whom we ask: where the person's settings do not name an address, nobody hears a
package's name. The first index that has a name answers, so that an inner package is not compared with a stranger's. A
token goes only to the address that its setting names. Answers and manifests are parsed in a helper.
"""
