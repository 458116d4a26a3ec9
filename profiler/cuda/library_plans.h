// SPDX-License-Identifier: Apache-2.0
// What the parts that use a library loaded by name have in common: finding its functions, and keeping what was described
// with it for one stream.
#pragma once

#include <cstdint>
#include <dlfcn.h>
#include <memory>
#include <string_view>
#include <type_traits>
#include <unordered_map>

namespace fourwalls::engine::gpu {

/// Finds the functions of a library by their names.
struct FunctionFinder {
    void* file;      ///< from dlopen
    bool all = true; ///< every one was there

    template <class Function>
    void operator()(Function& function, const char* name)
    {
        function = reinterpret_cast<Function>(dlsym(file, name));
        all = all && function;
    }
};

/// The library's handle of one stream, and its descriptions by what they depend on. Library: a struct of the functions
/// found, with get() and destroy.
template <class Library, class Handle, class Key, class Plan>
class LibraryPlans {
    // Keys are hashed as bytes.
    static_assert(std::has_unique_object_representations_v<Key>);
    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept
        {
            return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&key), sizeof key});
        }
    };

public:
    LibraryPlans() = default;
    LibraryPlans(const LibraryPlans&) = delete;
    LibraryPlans& operator=(const LibraryPlans&) = delete;
    ~LibraryPlans()
    {
        plans.clear();
        if (handle) Library::get().destroy(handle);
    }

    Handle handle = nullptr;
    std::unordered_map<Key, std::unique_ptr<Plan>, KeyHash> plans;
};

} // namespace fourwalls::engine::gpu
