# SPDX-License-Identifier: Apache-2.0
"""`pip install ./python`: a wheel of gandem/ and of what the build folder
($GANDEM_BUILD_DIR, else ../build) has for it. The programs stay in the build
folder; the wheel knows where they are.

Standard library only; a build backend as PEP 517 wants it. Errors: SystemExit
says what to build first.
"""
import base64
import hashlib
import os
import pathlib
import re
import sys
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD_HINT = ("run scripts/build.sh, or scripts/build.sh --python for networks "
              "of your own, or set GANDEM_BUILD_DIR to a build")
METADATA = """Metadata-Version: 2.1
Name: gandem
Version: {version}
Summary: Asynchronous decoupled GAN training, driven from Python
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: torch
Requires-Dist: torch=={torch}; extra == 'torch'
Provides-Extra: notebook
Requires-Dist: tqdm; extra == 'notebook'
Requires-Dist: pandas; extra == 'notebook'
"""


def project_value(pattern):
    return re.search(pattern, (HERE / "pyproject.toml").read_text())[1]


def build_folder():
    named = os.environ.get("GANDEM_BUILD_DIR")
    folder = pathlib.Path(named) if named else HERE.parent / "build"
    if not (folder / "bin" / "gandem").is_file():
        raise SystemExit(f"gandem: '{folder}' holds no bin/gandem: {BUILD_HINT}")
    return folder.resolve()


def extension_of(build):
    """gandem._worker for this interpreter; None: the build has none."""
    ending = sysconfig.get_config_var("EXT_SUFFIX")
    folder = build / "python" / "gandem"
    found = folder / f"_worker{ending}"
    if found.is_file():
        return found
    others = sorted(path.name for path in folder.glob("_worker*.so"))
    if others:
        raise SystemExit(f"gandem: the build has {', '.join(others)}, and "
                         f"{sys.executable} wants _worker{ending}: "
                         "`GANDEM_PYTHON=... scripts/build.sh --python`")
    return None


def package_files(build, extension):
    """Bytes by path in the wheel."""
    files = {f"gandem/{path.name}": path.read_bytes()
             for pattern in ("*.py", "py.typed")
             for path in sorted((HERE / "gandem").glob(pattern))}
    made = build / "python" / "gandem" / "_build.py"
    if extension is not None:
        files[f"gandem/{extension.name}"] = extension.read_bytes()
        files["gandem/_build.py"] = made.read_bytes()
    else:
        files["gandem/_build.py"] = (
            "# SPDX-License-Identifier: Apache-2.0\n"
            f"BIN_DIR = {str(build / 'bin')!r}\n").encode()
    return files


def tag_of(extension):
    if extension is None:
        return "py3-none-any"
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    del config_settings, metadata_directory
    build = build_folder()
    extension = extension_of(build)
    version = project_value(r'(?m)^version = "(.+)"')
    tag = tag_of(extension)
    info = f"gandem-{version}.dist-info"
    files = package_files(build, extension)
    files[f"{info}/METADATA"] = METADATA.format(
        version=version, torch=project_value(r'"torch==(.+)"')).encode()
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: gandem\n"
        f"Root-Is-Purelib: {str(extension is None).lower()}\n"
        f"Tag: {tag}\n").encode()
    files[f"{info}/RECORD"] = record_of(files, info)
    name = f"gandem-{version}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w",
                         zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    return name


def record_of(files, info):
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        lines.append(f"{path},sha256={digest.decode().rstrip('=')},"
                     f"{len(content)}\n")
    return "".join([*lines, f"{info}/RECORD,,\n"]).encode()


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517 asks for it; a wheel needs a build, which a package has not."""
    del sdist_directory, config_settings
    raise SystemExit(f"gandem: there are no source packages: {BUILD_HINT}, then "
                     "`pip install ./python`")
