// SPDX-License-Identifier: Apache-2.0
// The few functions of the C++ run-time library that the compiler and the standard headers refer to, hidden inside the
// module, so that it links none: no exception is thrown in it (it is compiled without them), and memory that cannot be
// had ends the operation that asked (nothrow) or, for the small fixed structures of the start, the process.
#include <cstdlib>
#include <new>

void* operator new(std::size_t size)
{
    void* memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) std::abort();
    return memory;
}
void* operator new[](std::size_t size)
{
    return operator new(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept
{
    return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept
{
    return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept
{
    std::free(memory);
}

namespace std {

const nothrow_t nothrow{};
void __throw_length_error(const char*)
{
    abort();
}
void __throw_bad_alloc()
{
    abort();
}
void __throw_bad_array_new_length()
{
    abort();
}
void __throw_out_of_range_fmt(const char*, ...)
{
    abort();
}

} // namespace std
