"""Names that somebody may have meant who asked for a package that is not there."""

from __future__ import annotations

from mcp_core.nearest_names import likeness, nearest
from ot_packs.locks import plain_name

_IMPORTED_AS = {
    "bs4": "beautifulsoup4", "cv2": "opencv-python", "crypto": "pycryptodome", "dateutil": "python-dateutil",
    "docx": "python-docx", "dotenv": "python-dotenv", "fitz": "pymupdf", "git": "gitpython", "jose": "python-jose",
    "magic": "python-magic", "mysqldb": "mysqlclient", "openssl": "pyopenssl", "pil": "pillow", "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary", "serial": "pyserial", "skimage": "scikit-image", "sklearn": "scikit-learn",
    "usb": "pyusb", "win32api": "pywin32", "yaml": "pyyaml", "zmq": "pyzmq",
}  # fmt: skip
_WELL_KNOWN = {
    "pypi": (
        "aiohttp alembic anyio attrs beautifulsoup4 black boto3 celery certifi cffi click coverage cryptography cython "
        "django djangorestframework fastapi flask grpcio gunicorn httpx hypothesis jinja2 jsonschema lxml mako "
        "matplotlib mypy networkx numpy openai openpyxl orjson packaging pandas pillow pip playwright poetry polars "
        "protobuf psutil psycopg pyarrow pydantic pydantic-settings pyjwt pymongo pytest pytest-asyncio pytest-cov "
        "python-dateutil python-dotenv pyyaml redis requests rich ruff scikit-learn scipy seaborn selenium sentry-sdk "
        "setuptools six sqlalchemy starlette sympy tensorflow tomli torch tornado tqdm transformers typer "
        "typing-extensions urllib3 uv uvicorn virtualenv websockets werkzeug wheel"
    ),
    "npm": (
        "@angular/core @babel/core @types/node @types/react ajv angular async axios bluebird body-parser chalk "
        "commander cors cross-env date-fns debug dotenv electron esbuild eslint express fastify fs-extra glob graphql "
        "husky immer inquirer jest jquery jsdom jsonwebtoken lodash mocha moment mongoose next nodemon nodemailer "
        "playwright postcss prettier prisma puppeteer react react-dom react-router redux rimraf rollup rxjs sass "
        "semver sharp socket.io svelte tailwindcss ts-node tslib typescript uuid vite vitest vue webpack winston ws "
        "yargs zod"
    ),
}
_ALIKE = 0.6


def suggest_names(kind: str, name: str) -> list[str]:
    """Return up to three well-known names that are near, and the package that is imported by this name."""
    exact = _IMPORTED_AS.get(plain_name(name)) if kind == "pypi" else None
    near = [each for each in nearest(name, _WELL_KNOWN[kind].split())[:5] if likeness(name, each) >= _ALIKE]
    return list(dict.fromkeys([*([exact] if exact else []), *near]))[:3]
