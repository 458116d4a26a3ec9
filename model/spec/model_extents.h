// SPDX-License-Identifier: Apache-2.0
// The whole numbers of a transformer's description: their names in files, and how large they may be. One table for
// reading, writing and checking.
#pragma once

#include "model/base/result.h"
#include "model/spec/model_spec.h"

#include <array>
#include <cstdint>

namespace fourwalls {

struct TransformerExtent {
    const char* key;
    std::int64_t TransformerSpec::*field;
    std::int64_t least, most;
    enum class Kind {
        Required,
        Derived, ///< has a default that depends on others, and is always written
        Special  ///< 0 where an architecture does not use it, and then not written
    } kind;
};

inline constexpr std::array<TransformerExtent, 9> kTransformerExtents{{
    {"layers", &TransformerSpec::layers, 1, 100'000, TransformerExtent::Kind::Required},
    {"hidden", &TransformerSpec::hidden, 1, 1'000'000, TransformerExtent::Kind::Required},
    {"heads", &TransformerSpec::heads, 1, 100'000, TransformerExtent::Kind::Required},
    {"vocabulary", &TransformerSpec::vocabulary, 2, 100'000'000, TransformerExtent::Kind::Required},
    {"sequence", &TransformerSpec::sequence, 1, 1'000'000'000, TransformerExtent::Kind::Required},
    {"kv_heads", &TransformerSpec::kvHeads, 1, 100'000, TransformerExtent::Kind::Derived},
    {"ffn_hidden", &TransformerSpec::ffnHidden, 1, 10'000'000, TransformerExtent::Kind::Derived},
    {"token_types", &TransformerSpec::tokenTypes, 0, 1'000'000, TransformerExtent::Kind::Special},
    {"head_width", &TransformerSpec::headWidth, 0, 1'000'000, TransformerExtent::Kind::Special},
}};

/// Whether sizes can be computed with: every extent in its range, and all of them together no more parameters than can
/// be counted. Descriptions that were read from files are; those made by programs may not be.
/// Errors: InvalidArgument naming the field.
Status checkExtents(const ModelSpec& model);

} // namespace fourwalls
