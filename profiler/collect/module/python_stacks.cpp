// SPDX-License-Identifier: Apache-2.0
// CPython by its documented C functions (3.9 and newer), which the program exports where it is Python.
#include "profiler/collect/module/python_stacks.h"

#include "profiler/collect/module/recorder.h"
#include "profiler/collect/module/system.h"

#include <cstdio>
#include <cstring>
#include <sys/types.h>
#include <unistd.h>

namespace fourwalls::collect::module {

namespace {

constexpr int kMostFrames = 16;
constexpr std::size_t kMostBytes = 1000; // of a stack's text
constexpr std::uint64_t kLookAgainNs = 1'000'000'000;

/// Objects of Python are only handed on: they need no type here.
struct Python {
    int (*isInitialized)() = nullptr;
    int (*addPendingCall)(int (*)(void*), void*) = nullptr;
    void* (*currentFrame)() = nullptr; ///< borrowed
    void* (*frameBack)(void*) = nullptr;
    void* (*frameCode)(void*) = nullptr;
    int (*frameLine)(void*) = nullptr;
    void* (*attribute)(void*, const char*) = nullptr;
    const char* (*text)(void*, ssize_t*) = nullptr;
    void (*drop)(void*) = nullptr;
    void (*clearError)() = nullptr;
};

// Of the main thread alone.
Python g_python;
bool g_found = false;
std::uint64_t g_nextLook = 0;
bool g_asked = false; ///< Python will call back
SyncStack g_stack{};

template <class Function>
bool bindProgram(Function*& function, const char* name)
{
    function = reinterpret_cast<Function*>(programSymbol(name));
    return function != nullptr;
}

bool findPython()
{
    if (g_found) return true;
    const std::uint64_t now = monotonic();
    if (now < g_nextLook) return false;
    g_nextLook = now + kLookAgainNs;
    Python& p = g_python;
    g_found = bindProgram(p.isInitialized, "Py_IsInitialized") && bindProgram(p.addPendingCall, "Py_AddPendingCall") &&
              bindProgram(p.currentFrame, "PyEval_GetFrame") && bindProgram(p.frameBack, "PyFrame_GetBack") &&
              bindProgram(p.frameCode, "PyFrame_GetCode") && bindProgram(p.frameLine, "PyFrame_GetLineNumber") &&
              bindProgram(p.attribute, "PyObject_GetAttrString") && bindProgram(p.text, "PyUnicode_AsUTF8AndSize") &&
              bindProgram(p.drop, "Py_DecRef") && bindProgram(p.clearError, "PyErr_Clear");
    return g_found;
}

/// The file with its folder: what lies above is the machine's own.
const char* shortPath(const char* path)
{
    const char* at = path + std::strlen(path);
    for (int slashes = 0; at > path; --at) {
        if (at[-1] == '/' && ++slashes == 2) break;
    }
    return at;
}

/// Appends "file:line function" of a frame.
void appendFrame(void* frame, char* text, std::size_t& used)
{
    void* const code = g_python.frameCode(frame);
    void* const file = g_python.attribute(code, "co_filename");
    void* const name = g_python.attribute(code, "co_name");
    const char* const fileText = file != nullptr ? g_python.text(file, nullptr) : nullptr;
    const char* const nameText = name != nullptr ? g_python.text(name, nullptr) : nullptr;
    if (fileText == nullptr || nameText == nullptr) g_python.clearError();
    const int added = std::snprintf(text + used, kMostBytes - used, "%s%s:%d %s", used > 0 ? " < " : "",
                                    fileText != nullptr ? shortPath(fileText) : "?", g_python.frameLine(frame),
                                    nameText != nullptr ? nameText : "?");
    if (added > 0) used += static_cast<std::size_t>(added);
    g_python.drop(file); // nullptr is allowed
    g_python.drop(name);
    g_python.drop(code);
}

/// Called by Python, with its lock, on its main thread. 0: no error.
int takeStack(void*)
{
    g_asked = false;
    Recorder* const recorder = Recorder::current();
    if (recorder == nullptr || !recorder->capturing()) return 0;
    const CostScope cost(recorder->callbackNs, recorder->callbacks);
    char text[kMostBytes] = "";
    std::size_t used = 0;
    void* frame = g_python.currentFrame();
    void* owned = nullptr;
    for (int i = 0; i < kMostFrames && frame != nullptr && used < kMostBytes - 1; ++i) {
        appendFrame(frame, text, used);
        frame = g_python.frameBack(frame);
        g_python.drop(owned);
        owned = frame;
    }
    g_python.drop(owned);
    const EventText texts{text, offsetof(SyncStack, stack)};
    if (text[0] != '\0') recorder->push(RecordKind::SyncStack, g_stack, &texts, 1);
    return 0;
}

} // namespace

void notePythonStack(std::uint32_t correlation)
{
    if (threadId() != static_cast<std::uint32_t>(getpid()) || !findPython()) return;
    if (g_asked) {
        ++g_stack.more;
        return;
    }
    if (g_python.isInitialized() == 0) return;
    g_stack = SyncStack{realtime(), threadId(), correlation, 0, 0};
    g_asked = true;
    if (g_python.addPendingCall(&takeStack, nullptr) != 0) g_asked = false; // Python's list of such calls is full
}

void forgetPythonStack()
{
    g_asked = false;
}

} // namespace fourwalls::collect::module
