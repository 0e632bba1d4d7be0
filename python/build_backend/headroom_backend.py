# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the wheel of the package, without network: the C library with CMake, the module of CFFI with the C compiler.

It implements PEP 517 and needs cffi and a C compiler. It needs no package that writes wheels: a wheel is a zip file
with three text files of metadata.

If the environment variable HEADROOM_LIBRARY_DIR is set, it names a folder with a libheadroom.so that was already built
from this source tree. The build of a Debian package uses this.

Called as a program, it writes the package to a folder, for a system on which the library is installed:

    headroom_backend.py LIBRARY_DIR FOLDER
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(PACKAGE)


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        found = re.search(r"project\(.*?VERSION\s+([0-9.]+)", file.read(), re.S)
    return found.group(1)


def library_dir():
    """Builds the library in build/release if that is configured, otherwise in build/python."""
    given = os.environ.get("HEADROOM_LIBRARY_DIR")
    if given:
        return given
    build = os.path.join(ROOT, "build", "release")
    if not os.path.exists(os.path.join(build, "CMakeCache.txt")):
        build = os.path.join(ROOT, "build", "python")
        subprocess.check_call(["cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DHEADROOM_TESTS=OFF"])
    jobs = str(os.cpu_count() or 1)
    subprocess.check_call(["cmake", "--build", build, "--target", "headroom_shared", "--parallel", jobs])
    return build


def platform_tag():
    python = "cp%d%d" % sys.version_info[:2]
    return "%s-%s-%s" % (python, python, re.sub(r"[^A-Za-z0-9]", "_", sysconfig.get_platform()))


def metadata():
    with open(os.path.join(PACKAGE, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    return (
        "Metadata-Version: 2.1\nName: headroom\nVersion: %s\n"
        "Summary: Simulator and capacity planner for GPU clusters\nLicense: GPL-3.0-or-later\n"
        "Requires-Python: >=3.9\nRequires-Dist: cffi\nProvides-Extra: frames\n"
        'Requires-Dist: numpy; extra == "frames"\nRequires-Dist: pandas; extra == "frames"\n'
        "Description-Content-Type: text/markdown\n\n%s" % (version(), readme)
    )


class Wheel:
    """A wheel that is being written: a zip file, and the list of its files with checksums."""

    def __init__(self, path, info):
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.info = info
        self.record = []

    def add(self, name, content):
        # A fixed time, so that equal files give equal wheels.
        entry = zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0))
        entry.external_attr = 0o644 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.file.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(content)))

    def close(self):
        name = self.info + "/RECORD"
        self.file.writestr(name, "\n".join(self.record + [name + ",,", ""]))
        self.file.close()


def native_module(work, library, beside=True):
    """Compiles the module of CFFI. Returns the path of the shared object. `beside`: whether the library will be in the
    same folder."""
    sys.path.insert(0, os.path.join(PACKAGE, "headroom"))
    import _build

    return _build.builder(ROOT, library, beside).compile(tmpdir=work, verbose=False)


def package_files():
    """The names of the files of the package that are not compiled."""
    names = sorted(os.listdir(os.path.join(PACKAGE, "headroom")))
    return [name for name in names if name.endswith((".py", ".c", ".h")) or name == "py.typed"]


def add_file(wheel, name, path):
    with open(path, "rb") as file:
        wheel.add(name, file.read())


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = os.path.abspath(library_dir())
    name = "headroom-%s-%s.whl" % (version(), platform_tag())
    info = "headroom-%s.dist-info" % version()
    work = tempfile.mkdtemp()
    try:
        module = native_module(work, library)
        wheel = Wheel(os.path.join(wheel_directory, name), info)
        source = os.path.join(PACKAGE, "headroom")
        for file in package_files():
            add_file(wheel, "headroom/" + file, os.path.join(source, file))
        add_file(wheel, "headroom/" + os.path.basename(module), module)
        shared = os.path.realpath(os.path.join(library, "libheadroom.so"))
        soname = "libheadroom.so." + version().split(".")[0]
        add_file(wheel, "headroom/" + soname, shared)
        wheel.add(info + "/METADATA", metadata().encode())
        wheel.add(info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: headroom\nRoot-Is-Purelib: false\nTag: %s\n"
                                    % platform_tag()).encode())
        wheel.close()
    finally:
        shutil.rmtree(work)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("the package is built from Headroom's source tree; source distributions are not supported")


def get_requires_for_build_wheel(config_settings=None):
    return ["cffi"]


def write_package(library, folder):
    """Writes the package and its metadata to a folder of Python modules."""
    package = os.path.join(folder, "headroom")
    info = os.path.join(folder, "headroom-%s.dist-info" % version())
    work = tempfile.mkdtemp()
    try:
        os.makedirs(package, exist_ok=True)
        os.makedirs(info, exist_ok=True)
        module = native_module(work, os.path.abspath(library), beside=False)
        for path in [module] + [os.path.join(PACKAGE, "headroom", name) for name in package_files()]:
            shutil.copy(path, package)
            os.chmod(os.path.join(package, os.path.basename(path)), 0o644)
        with open(os.path.join(info, "METADATA"), "w", encoding="utf-8") as file:
            file.write(metadata())
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    write_package(*sys.argv[1:])
