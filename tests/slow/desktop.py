#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The window on a desktop: under X11 (Xvfb with openbox) and under Wayland (weston in a window of that Xvfb) it opens a
trace, takes one that is dropped on it, copies a table to the clipboard, and on a display of twice the pixels it draws
twice as many. Exit code 77: something that this needs is missing.
  desktop.py FOURWALLS FOURWALLS-CLI [FOLDER FOR THE SCREENSHOTS]"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOOLS = {"Xvfb": "xvfb", "openbox": "openbox", "xdotool": "xdotool", "xprop": "x11-utils", "xclip": "xclip",
         "weston": "weston", "wl-paste": "wl-clipboard", "import": "imagemagick", "convert": "imagemagick",
         "compare": "imagemagick", "identify": "imagemagick"}
WIDTH, HEIGHT = 1440, 860  # of a window that was never open before, in device-independent pixels
PATIENCE = 60              # seconds for anything to happen, also under emulation or beside a build
STEPS, TIMELINE, COPY_TABLE = "ctrl+0", "ctrl+3", "ctrl+shift+c"

# A program that offers a file: a window of one colour. Says what became of each drag.
SOURCE = """
import sys
from PyQt6.QtCore import QMimeData, Qt, QUrl
from PyQt6.QtGui import QColor, QDrag, QPalette
from PyQt6.QtWidgets import QApplication, QWidget

class Source(QWidget):
    def mouseMoveEvent(self, event):
        drag, mime = QDrag(self), QMimeData()
        mime.setUrls([QUrl.fromLocalFile(sys.argv[1])])
        drag.setMimeData(mime)
        print("dragged", drag.exec(Qt.DropAction.CopyAction).name, flush=True)

application = QApplication(sys.argv)
source = Source()
source.setWindowTitle("source of a file")
source.setFixedSize(200, 140)
palette = source.palette()
palette.setColor(QPalette.ColorRole.Window, QColor("#ff00ff"))
source.setPalette(palette)
source.show()
application.exec()
"""

# Nothing moves and nothing else is painted.
WESTON = """
[core]
idle-time=0
[shell]
background-color=0xff204060
panel-position=none
locking=false
animation=none
close-animation=none
startup-animation=none
focus-animation=none
"""


def wait_for(what, found, seconds=PATIENCE):
    """What `found` returns as soon as that is true."""
    end = time.monotonic() + seconds
    while True:
        result = found()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s in vain for {what}")
        time.sleep(0.05)  # between two questions


def with_pyqt():
    for python in (sys.executable, "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", "import PyQt6.QtWidgets"], capture_output=True).returncode == 0:
            return python
    return None


class Desktop:
    """The programs of one run; all of them end with it."""

    def __init__(self, fourwalls, traces, folder, shots, python):
        self.fourwalls, self.traces, self.folder, self.shots, self.python = fourwalls, traces, folder, shots, python
        self.running, self.counted, self.failed = [], 0, 0
        self.environment = {**os.environ, "HOME": folder, "XDG_RUNTIME_DIR": folder, "LC_ALL": "C.UTF-8"}
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "QT_SCALE_FACTOR", "XDG_CURRENT_DESKTOP"):
            self.environment.pop(name, None)

    def start(self, command, log, **environment):
        """Starts a program; what it says goes to a file."""
        self.counted += 1
        self.environment["XDG_CONFIG_HOME"] = os.path.join(self.folder, f"config{self.counted}")
        path = os.path.join(self.folder, f"{log}{self.counted}.log")
        with open(path, "w") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, stdin=subprocess.DEVNULL,
                                       env={**self.environment, **environment})
        self.running.append(process)
        return process, path

    def end(self, process):
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.running.remove(process)

    def end_all(self):
        for process in reversed(list(self.running)):
            self.end(process)

    def output(self, *command, binary=False, seconds=20):
        """What a tool says; empty when it fails."""
        try:
            done = subprocess.run(command, capture_output=True, env=self.environment, timeout=seconds)
        except subprocess.TimeoutExpired:
            return b"" if binary else ""
        text = done.stdout if done.returncode == 0 else b""
        return text if binary else text.decode(errors="replace").strip()

    def check(self, name, good, found):
        print(f"{name}: {'ok' if good else 'FAILED'} ({found})", flush=True)
        self.failed += not good

    def screen(self, name, window="root"):
        path = os.path.join(self.shots, name + ".png")
        self.output("import", "-window", window, path)
        return path

    def start_x(self):
        # Xvfb chooses a free display and says which as soon as it can be used; nor does it begin anew whenever the last
        # program goes, which would turn away one that comes then.
        read, write = os.pipe()
        with open(os.path.join(self.folder, "Xvfb.log"), "w") as log:
            self.running.append(subprocess.Popen(
                ["Xvfb", "-displayfd", str(write), "-screen", "0", "3600x2400x24", "-nolisten", "tcp", "-noreset"],
                pass_fds=[write], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment))
        os.close(write)
        with os.fdopen(read) as number:
            self.environment["DISPLAY"] = ":" + number.readline().strip()
        self.start(["openbox"], "openbox")
        wait_for("a window manager", lambda: "window id" in self.output("xprop", "-root", "_NET_SUPPORTING_WM_CHECK"))

    def window(self, title):
        """The X window of that title; None without one."""
        ids = self.output("xdotool", "search", "--onlyvisible", "--name", title).split()
        return ids[-1] if ids else None

    def shape(self, window):
        """Left, top, width and height on the screen."""
        said = self.output("xdotool", "getwindowgeometry", "--shell", window)
        found = dict(line.split("=") for line in said.splitlines())
        return tuple(int(found[name]) for name in ("X", "Y", "WIDTH", "HEIGHT"))

    def size(self, window):
        return self.shape(window)[2:]

    def mouse(self, *command):
        self.output("xdotool", *[str(word) for word in command])

    def drag(self, log, begin, end, opened):
        """Drags from one place of the screen to another until the file is open there."""
        for _ in range(5):
            before = self.said(log).count("dragged")
            self.mouse("mousemove", *begin, "mousedown", 1)
            for part in range(1, 21):
                self.mouse("mousemove", *(round(a + (b - a) * part / 20) for a, b in zip(begin, end)))
            for part in range(20):  # the target answers to moves over it
                self.mouse("mousemove", end[0] + part % 2, end[1])
            self.mouse("mouseup", 1)
            wait_for("the end of the drag", lambda: self.said(log).count("dragged") > before)
            if self.said(log).splitlines()[-1] == "dragged CopyAction":
                return wait_for("the dropped trace", opened)
        return None

    @staticmethod
    def said(log):
        with open(log, errors="replace") as file:
            return file.read()

    def copied(self, paste):
        """Presses the key for "copy the table" until the clipboard has one."""
        def text():
            self.output("xdotool", "key", "--clearmodifiers", COPY_TABLE)
            content = self.output(*paste, seconds=5)
            return content if content.count("\n") > 1 and content.count(",") > 2 else None
        return wait_for("a table on the clipboard", text)

    def part(self, picture, crop, name):
        path = os.path.join(self.folder, name + ".png")
        self.output("convert", picture, "-crop", crop, "+repage", path)
        return path

    def squares(self, picture):
        """The picture as it would be with half the pixels, each of them four times."""
        path = os.path.join(self.folder, "squares.png")
        self.output("convert", picture, "-sample", "50%", "-sample", "200%", path)
        return path

    def unlike(self, one, other):
        """The share of pixels that differ between two pictures of one size."""
        done = subprocess.run(["compare", "-metric", "AE", one, other, "null:"], capture_output=True, text=True)
        width, height = self.output("identify", "-format", "%w %h", one).split()
        return float(done.stderr.split()[0]) / (int(width) * int(height))

    def colours(self, picture):
        return int(self.output("identify", "-format", "%k", picture) or 0)

    def box(self, picture, *select):
        """What is not of the colour of the corners: left, top, width, height."""
        found = re.match(r"(\d+)x(\d+)\+(-?\d+)\+(-?\d+)",
                         self.output("convert", picture, *select, "-trim", "-format", "%wx%h%O", "info:"))
        return tuple(int(found[i]) for i in (3, 4, 1, 2)) if found else (0, 0, 0, 0)


def under_x11(desktop):
    program, log = desktop.start([desktop.fourwalls, "--lang", "en", desktop.traces[0]], "x11_")
    window = wait_for("the window", lambda: desktop.window("first.fourwalls"))
    desktop.check("X11: opens with the trace's name in the title", desktop.size(window) == (WIDTH, HEIGHT),
                  "%dx%d" % desktop.size(window))

    source, said = desktop.start([desktop.python, "-c", SOURCE, desktop.traces[1]], "source")
    offer = wait_for("the source of the drag", lambda: desktop.window("source of a file"))
    desktop.mouse("windowmove", "--sync", window, 20, 40)
    desktop.mouse("windowmove", offer, 2000, 300)
    wait_for("the source in its place", lambda: desktop.shape(offer)[0] >= 2000)
    opened = desktop.drag(said, (2100, 400), (700, 500), lambda: desktop.window("dropped.fourwalls"))
    desktop.check("X11: a dropped trace opens", bool(opened), desktop.said(said).splitlines()[-1])
    desktop.end(source)

    window = opened or window
    desktop.mouse("windowactivate", "--sync", window)
    desktop.mouse("key", "--clearmodifiers", STEPS)
    text = desktop.copied(["xclip", "-o", "-selection", "clipboard"])
    desktop.check("X11: a table is on the clipboard", "step" in text, repr(text.splitlines()[0]))
    desktop.check("X11: paints", desktop.colours(desktop.screen("x11", window)) > 50, "x11.png")
    desktop.end(program)

    program, log = desktop.start([desktop.fourwalls, "--lang", "en", desktop.traces[0]], "x11_", QT_SCALE_FACTOR="2")
    window = wait_for("the window", lambda: desktop.window("first.fourwalls"))
    desktop.check("X11, ratio 2: twice as many pixels", desktop.size(window) == (2 * WIDTH, 2 * HEIGHT),
                  "%dx%d" % desktop.size(window))
    desktop.mouse("windowactivate", "--sync", window)
    wait_for("the first view", lambda: desktop.colours(desktop.screen("x11_ratio2", window)) > 50)
    fine_timeline(desktop, "X11", "x11_ratio2", window, (0, 0))
    desktop.end(program)


def fine_timeline(desktop, system, name, window, corner):
    """Goes to the timeline, whose bars and their names shall be drawn in the pixels of the screen."""
    crop = f"2000x500+{corner[0] + 560}+{corner[1] + 260}"
    before = desktop.part(desktop.screen(name, window), crop, "before")
    last = [before]

    def settled():
        desktop.output("xdotool", "key", "--clearmodifiers", TIMELINE)
        now = desktop.part(desktop.screen(name, window), crop, f"now{len(last)}")
        last.append(now)
        return desktop.unlike(before, now) > 0.2 and desktop.unlike(last[-2], now) == 0
    wait_for("the timeline", settled)
    share = desktop.unlike(last[-1], desktop.squares(last[-1]))
    desktop.check(f"{system}, ratio 2: the timeline is drawn in the screen's pixels", share > 0.01,
                  f"{100 * share:.1f} % of the pixels unlike their square's")


def widest_buffer(desktop, log):
    found = re.findall(r"create_buffer\(new id wl_buffer[@#]\d+, \d+, (\d+),", desktop.said(log))
    return max((int(width) for width in found), default=0)


def under_wayland(desktop, scale):
    """Weston is one X window; what its clients ask of it is read from their own record of the protocol."""
    name = f"fourwalls-test-{scale}"
    config = os.path.join(desktop.folder, "weston.ini")
    with open(config, "w") as file:
        file.write(WESTON)
    place = f"Wayland, ratio {scale}" if scale > 1 else "Wayland"
    weston, weston_log = desktop.start(
        ["weston", "--backend=x11-backend.so", "--use-pixman", f"--config={config}", f"--socket={name}", "--width=1550",
         "--height=980", f"--scale={scale}"], "weston")
    wait_for("weston's socket", lambda: os.path.exists(os.path.join(desktop.folder, name)))
    output = wait_for("weston's window", lambda: re.findall(r"window id (\d+)", desktop.said(weston_log)))[0]
    desktop.output("xdotool", "windowmap", "--sync", output)
    desktop.mouse("windowactivate", "--sync", output)
    left, top = desktop.shape(output)[:2]
    desktop.environment["WAYLAND_DISPLAY"] = name
    wayland = {"QT_QPA_PLATFORM": "wayland", "WAYLAND_DEBUG": "client"}
    shot = f"wayland_ratio{scale}"

    program, log = desktop.start([desktop.fourwalls, "--lang", "en", desktop.traces[0]], "wayland_", **wayland)
    wait_for("the window's title", lambda: 'set_title("first.fourwalls' in desktop.said(log))

    def place_of_window():
        # Without the edge: weston may paint its pointer in the corner, and places no window there.
        edge = 30 * scale
        found = desktop.box(desktop.screen(shot, output), "-shave", f"{edge}x{edge}", "+repage")
        found = (found[0] + edge, found[1] + edge, *found[2:])
        return found if found[2] >= WIDTH * scale and found[3] >= HEIGHT * scale else None
    # Painted: there is something that is not the desktop's one colour.
    box = wait_for("something painted", place_of_window)
    wait_for("more than a frame", lambda: desktop.colours(desktop.screen(shot, output)) > 50)
    desktop.check(f"{place}: opens and paints", program.poll() is None, "%dx%d at %d, %d" % (*box[2:], *box[:2]))
    desktop.check(f"{place}: buffers of the screen's pixels", widest_buffer(desktop, log) >= scale * WIDTH,
                  f"{widest_buffer(desktop, log)} wide for {WIDTH}")

    if scale == 1:
        source, said = desktop.start([desktop.python, "-c", SOURCE, desktop.traces[1]], "source",
                                     QT_QPA_PLATFORM="wayland")

        def place_of_source():
            found = desktop.box(desktop.screen("wayland_drag", output), "-fill", "black", "+opaque", "#ff00ff")
            return found if 150 <= found[2] <= 200 else None
        offer = wait_for("the source of the drag", place_of_source)
        begin = (left + offer[0] + offer[2] // 2, top + offer[1] + offer[3] // 2)
        # The half of the window that the source does not lie on.
        right = offer[0] + offer[2] // 2 < box[0] + box[2] // 2
        end = (left + box[0] + box[2] * (3 if right else 1) // 4, top + box[1] + box[3] // 2)
        opened = desktop.drag(said, begin, end, lambda: 'set_title("dropped.fourwalls' in desktop.said(log))
        desktop.check(f"{place}: a dropped trace opens", bool(opened), desktop.said(said).splitlines()[-1])
        desktop.end(source)
        desktop.mouse("mousemove", *end, "click", 1)
        desktop.mouse("key", "--clearmodifiers", STEPS)
        text = desktop.copied(["wl-paste", "--no-newline"])
        desktop.check(f"{place}: a table is on the clipboard", "step" in text, repr(text.splitlines()[0]))
    else:
        fine_timeline(desktop, "Wayland", shot, output, (box[0], box[1] + 60))
    desktop.check(f"{place}: still there", program.poll() is None, "")
    desktop.end(program)
    desktop.end(weston)
    del desktop.environment["WAYLAND_DISPLAY"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    missing = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    python = with_pyqt()
    if not python:
        missing.append("python3-pyqt6")
    if not (glob.glob("/usr/lib/*/qt6/plugins/platforms/libqwayland*.so") or
            glob.glob("/usr/lib*/qt6/plugins/platforms/libqwayland*.so")):
        missing.append("qt6-wayland")
    if missing:
        print("missing: " + " ".join(missing))
        return 77
    fourwalls, cli = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        traces = [os.path.join(folder, name + ".fourwalls") for name in ("first", "dropped")]
        subprocess.run([cli, "record", "-o", traces[0], "--model", "gpt-tiny", "--steps", "3"], check=True,
                       stdout=subprocess.DEVNULL)
        shutil.copy(traces[0], traces[1])
        shots = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else folder
        os.makedirs(shots, exist_ok=True)
        desktop = Desktop(fourwalls, traces, folder, shots, python)
        try:
            desktop.start_x()
            under_x11(desktop)
            under_wayland(desktop, 1)
            under_wayland(desktop, 2)
        except TimeoutError as error:
            desktop.check("desktop", False, error)
            desktop.screen("failed")
            for log in sorted(os.listdir(folder)):
                if log.endswith(".log"):
                    print(f"-- {log}\n" + desktop.said(os.path.join(folder, log))[-1000:])
        finally:
            desktop.end_all()
        return 1 if desktop.failed else 0


if __name__ == "__main__":
    sys.exit(main())
