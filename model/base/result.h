// SPDX-License-Identifier: Apache-2.0
// Errors as values: everything that can fail returns a Result that says what happened, where, and what to try.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace fourwalls {

/// What kind of failure an Error is; callers branch on this, people read the text.
enum class ErrorCode { InvalidArgument, NotFound, Io, Format, Unsupported, Cancelled, Internal };

/// One failure, in words for a person: what happened, where (file, field, operation), what to try next.
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string what;
    std::string where;
    std::string hint;

    /// One line: "where: what (try: hint)"; parts that are empty are left out.
    std::string message() const;
};

/// Either a value or an Error. Reading the wrong one is a programming error and asserts in the standard library.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & { return std::get<0>(m_state); }
    const T& value() const& { return std::get<0>(m_state); }
    T&& value() && { return std::get<0>(std::move(m_state)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const Error& error() const { return std::get<1>(m_state); }

private:
    std::variant<T, Error> m_state;
};

/// The Result of an operation that has no value to return.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : m_error(std::move(error)), m_ok(false) {}

    bool ok() const { return m_ok; }
    explicit operator bool() const { return m_ok; }
    const Error& error() const { return m_error; }

private:
    Error m_error;
    bool m_ok = true;
};

using Status = Result<void>;

} // namespace fourwalls

#define FOURWALLS_CONCAT_IMPL(a, b) a##b
#define FOURWALLS_CONCAT(a, b) FOURWALLS_CONCAT_IMPL(a, b)

/// Returns the error of `expression` (a Result) from the calling function, if it failed.
#define FOURWALLS_TRY(expression)                            \
    do {                                                     \
        auto fourwallsTry = (expression);                    \
        if (!fourwallsTry.ok()) return fourwallsTry.error(); \
    } while (false)

/// Declares or assigns `target` from a Result, or returns its error from the calling function.
#define FOURWALLS_TRY_ASSIGN(target, expression)                                                                 \
    auto FOURWALLS_CONCAT(fourwallsTry, __LINE__) = (expression);                                                \
    if (!FOURWALLS_CONCAT(fourwallsTry, __LINE__).ok()) return FOURWALLS_CONCAT(fourwallsTry, __LINE__).error(); \
    target = std::move(*FOURWALLS_CONCAT(fourwallsTry, __LINE__))
