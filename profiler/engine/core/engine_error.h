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

/// What this engine or this machine cannot do, of a field of the run that asks for it.
inline Error unsupported(std::string field, std::string what, std::string hint)
{
    return {ErrorCode::Unsupported, std::move(what), std::move(field), std::move(hint)};
}

} // namespace fourwalls::engine
