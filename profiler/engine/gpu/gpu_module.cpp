// SPDX-License-Identifier: Apache-2.0
// See gpu_module.h.
#include "profiler/engine/gpu/gpu_module.h"

#include "profiler/engine/gpu/kernel_list.h"

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace fourwalls::engine::gpu {

namespace {

constexpr const char* kFile = "libfourwalls_cuda.so";

Error missing(std::string what, std::string hint)
{
    return {ErrorCode::Unsupported, std::move(what), "device", std::move(hint)};
}

std::string programDirectory()
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) return {};
    const std::string program(path, static_cast<std::size_t>(length));
    return program.substr(0, program.rfind('/'));
}

Result<const Module*> openModule()
{
    std::vector<std::string> places;
    if (const char* named = std::getenv("FOURWALLS_CUDA_MODULE"); named && *named) {
        if (access(named, R_OK) != 0)
            return missing("FOURWALLS_CUDA_MODULE names a file that cannot be read: " + std::string(named),
                           "its whole path, or the variable unset");
        places.push_back(named);
    } else if (const std::string here = programDirectory(); !here.empty()) {
        places.push_back(here + "/" + kFile);
        places.push_back(here + "/../lib/" + kFile);
        places.push_back(here + "/../lib/fourwalls/" + kFile);
    }
    void* library = nullptr;
    std::string reason;
    for (const std::string& place : places) {
        if (access(place.c_str(), R_OK) != 0) continue;
        library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library) break;
        if (const char* text = dlerror()) reason = text;
    }
    if (!library && reason.empty())
        return missing("this program has no CUDA part: " + std::string(kFile) + " is not beside it",
                       "--device cpu, or a build with the CUDA toolkit");
    if (!library) return missing("the CUDA part cannot be loaded: " + reason, "--device cpu");
    using Entry = const Module* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(library, kModuleEntry));
    const Module* const module = entry ? entry() : nullptr;
    if (!module || module->mark != kKernelListMark)
        return missing(std::string(kFile) + " is of another version than this program",
                       "both from the same build, or --device cpu");
    return module;
}

Result<LoadedModule> startModule(const Module* module)
{
    LoadedModule loaded{module, 0};
    char why[256] = {};
    if (!module->start(&loaded.devices, why, sizeof why)) return missing(why, "--device cpu");
    if (loaded.devices < 1) return missing("the CUDA driver sees no GPU", "--device cpu");
    return loaded;
}

std::mutex mutex;
const Module* replacement = nullptr;
std::optional<Result<LoadedModule>> loadedOnce;

} // namespace

Result<LoadedModule> loadModule()
{
    const std::lock_guard lock(mutex);
    if (replacement) return startModule(replacement);
    if (!loadedOnce) {
        const auto opened = openModule();
        loadedOnce = opened ? startModule(*opened) : Result<LoadedModule>(opened.error());
    }
    return *loadedOnce;
}

void useModule(const Module* module)
{
    const std::lock_guard lock(mutex);
    replacement = module;
}

} // namespace fourwalls::engine::gpu
