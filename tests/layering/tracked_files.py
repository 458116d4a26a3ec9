# SPDX-License-Identifier: Apache-2.0
"""The files of the project, without what a person left lying about in the checkout."""
import os
import shutil
import subprocess
from pathlib import Path

SKIPPED_FOLDERS = {".git", "build", ".cache", "__pycache__"}


def tracked_files(root):
    """Paths relative to root: what git tracks, or every file where git cannot say (an unpacked archive)."""
    if shutil.which("git") and (root / ".git").exists():
        listing = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=False)
        if listing.returncode == 0 and listing.stdout:
            names = listing.stdout.decode("utf-8").split("\0")
            return [name for name in names if name and (root / name).is_file()]
    found = []
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in SKIPPED_FOLDERS]
        found += [Path(folder, file).relative_to(root).as_posix() for file in files]
    return sorted(found)
