// SPDX-License-Identifier: Apache-2.0
// The exception that carries an Error up to the engine's front door. It never leaves profiler/engine.
#pragma once

#include "model/base/result.h"

#include <exception>
#include <string>
#include <utility>

namespace fourwalls::engine {

class EngineError : public std::exception {
public:
    explicit EngineError(Error error) : m_error(std::move(error)), m_message(m_error.message()) {}
    EngineError(ErrorCode code, std::string what, std::string where, std::string hint = {})
        : EngineError(Error{code, std::move(what), std::move(where), std::move(hint)})
    {}

    const Error& error() const { return m_error; }
    const char* what() const noexcept override { return m_message.c_str(); }

private:
    Error m_error;
    std::string m_message;
};

} // namespace fourwalls::engine
