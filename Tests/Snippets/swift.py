"""Swift blocks: each is compiled against the modules of a build; a program is linked and run."""

import glob
import os
import re
import shutil
import subprocess

from blocks import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
# Executables, which have a main of their own, and what only they need.
PROGRAMS = {"LockstepCommand"}


class Swift:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.modules = os.path.join(build, "Modules")
        if not os.path.exists(os.path.join(self.modules, "LockstepTesting.swiftmodule")):
            raise FileNotFoundError(
                f"{build} has no module LockstepTesting; build it with `swift build --build-tests`,"
                " or name the folder with --build")
        compiler = os.path.realpath(shutil.which("swiftc"))
        self.toolchain = os.path.dirname(os.path.dirname(compiler))

    def check(self, block):
        """Compiles a block; returns what the compiler reports, or nothing."""
        folder = os.path.join(self.folder, re.sub(r"\W", "_", block.place))
        os.makedirs(folder)
        file = os.path.join(folder, "main.swift")
        with open(file, "w", encoding="utf-8") as output:
            output.write(self.program(block))
        done = subprocess.run(
            ["swiftc", "-typecheck", *self.options(block), file], capture_output=True, text=True)
        faults = re.findall(r"^.*?error: .*$", done.stderr, re.MULTILINE)
        if done.returncode == 0:
            return ""
        return "\n".join(dict.fromkeys(faults)) or done.stderr

    def program(self, block):
        """The block in its preamble; the compiler then counts the lines of the document."""
        preamble = self.preamble(block)
        text = f"#sourceLocation(file: \"{block.path}\", line: {block.line + 1})\n{block.text}" \
            "#sourceLocation()\n"
        if preamble is None:
            return text
        with open(os.path.join(HERE, f"{preamble}.swift"), encoding="utf-8") as file:
            around = file.read()
        # The directive cannot stand inside an expression.
        return around.replace("// SNIPPET", block.text if preamble == "manifest" else text)

    @staticmethod
    def preamble(block):
        """A preamble has declarations alone; a block without one may also have statements."""
        if "with" in block.options:
            return block.options["with"]
        return None if "import " in block.text else "todo"

    def options(self, block):
        if self.preamble(block) == "manifest":
            return ["-swift-version", "5", "-package-description-version", "6.0.0", "-I",
                    os.path.join(self.toolchain, "lib/swift/pm/ManifestAPI")]
        options = ["-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny",
                   "-diagnostic-style=llvm", *self.imports()]
        if self.preamble(block) is not None:
            options.append("-parse-as-library")
        if "import Testing" in self.program(block):
            plugins = os.path.join(self.toolchain, "lib/swift/host/plugins/testing")
            options += ["-plugin-path", plugins]
        return options

    def imports(self):
        libraries = glob.glob(os.path.join(ROOT, "Sources/SystemLibraries/*"))
        folders = [self.modules, *libraries, *(f"{path}/include" for path in libraries)]
        # Those of C targets are made by the build.
        maps = glob.glob(os.path.join(self.build, "*.build/module.modulemap"))
        return [word for folder in folders for word in ("-I", folder)] \
            + [word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")]

    @staticmethod
    def has_source(path):
        """False for the object of a source that was moved or removed since an earlier build."""
        module = re.findall(r"([^/]+)\.build/", path)[-1]
        folder = os.path.join(ROOT, "Sources", module.removeprefix("Lockstep") or module)
        source = os.path.basename(path).removesuffix(".o")
        return not source.endswith(".swift") or source.startswith("Embedded") \
            or bool(glob.glob(os.path.join(folder, "**", source), recursive=True))

    def link(self, block, output, changed):
        """Builds a program out of a block, whose text may be changed before."""
        folder = os.path.dirname(output)
        file = os.path.join(folder, "main.swift")
        with open(file, "w", encoding="utf-8") as text:
            text.write(changed(self.program(block)))
        objects = [path for module in glob.glob(os.path.join(self.build, "*.build"))
                   if re.match(r"(Lockstep|C)[A-Z]\w*\.build$|Lockstep\.build$",
                               os.path.basename(module))
                   and not self.is_left_out(os.path.basename(module)[:-len(".build")])
                   for path in glob.glob(os.path.join(module, "**/*.o"), recursive=True)
                   if self.has_source(path)]
        libraries = ["-lssl", "-lcrypto", "-lsqlite3", "-lz", "-lnghttp2"]
        done = subprocess.run(
            ["swiftc", "-o", output, *self.options(block), file, *objects, *libraries],
            capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{block.place}: {done.stderr[-4000:]}")

    @staticmethod
    def is_left_out(module):
        return module in PROGRAMS or module.endswith("Tests") or module == "LockstepTesting"
