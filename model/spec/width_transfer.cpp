// SPDX-License-Identifier: Apache-2.0
// See width_transfer.h.
#include "model/spec/width_transfer.h"

#include <nlohmann/json.hpp>

#include <numeric>
#include <string>

namespace fourwalls {

namespace {

using nlohmann::json;

// A field beside those of RunSpec: releases that do not know it keep it (RunSpec::unknownFieldsJson).
constexpr const char* kMupField = "mup_base_width";
constexpr std::int64_t kWidestModel = 1 << 20;

json extraFields(const RunSpec& spec)
{
    json fields = json::parse(spec.unknownFieldsJson, nullptr, false);
    return fields.is_object() ? fields : json::object();
}

} // namespace

Result<ModelSpec> withWidth(const ModelSpec& model, std::int64_t width)
{
    const TransformerSpec* from = model.transformer();
    if (!from || from->hasExperts() || from->latent.keyValueRank > 0)
        return Error{ErrorCode::Unsupported, "only dense transformers have another width", "width",
                     "a model such as gpt-tiny or llama-tiny"};
    if (from->hidden < 1 || from->headSize() < 1 || from->heads < 1 || from->kvHeads < 1)
        return Error{ErrorCode::InvalidArgument, "the model has no heads or no width", model.name,
                     "a complete model description"};
    if (width == from->hidden) return model;
    // Heads keep their size: the smallest step of the width keeps all counts whole.
    const std::int64_t unit =
        from->hidden / std::gcd(std::gcd(from->hidden, from->heads), std::gcd(from->kvHeads, from->ffnHidden));
    if (width < unit || width % unit != 0 || width > kWidestModel)
        return Error{ErrorCode::InvalidArgument,
                     "cannot be " + std::to_string(width) + " with heads of " + std::to_string(from->headSize()),
                     "width", "a multiple of " + std::to_string(unit)};
    TransformerSpec wide = *from;
    const auto scaled = [&](std::int64_t count) { return count / (from->hidden / unit) * (width / unit); };
    wide.hidden = width;
    wide.heads = scaled(from->heads);
    wide.kvHeads = scaled(from->kvHeads);
    wide.ffnHidden = scaled(from->ffnHidden);
    ModelSpec result = model;
    result.name += "-w" + std::to_string(width);
    result.architecture = wide;
    return result;
}

std::int64_t mupBaseWidth(const RunSpec& spec)
{
    if (spec.unknownFieldsJson.empty()) return 0;
    const json fields = extraFields(spec);
    const auto found = fields.find(kMupField);
    if (found == fields.end() || !found->is_number_integer()) return 0;
    const auto width = found->get<std::int64_t>();
    return width > 0 && width <= kWidestModel ? width : 0;
}

void setMupBaseWidth(RunSpec& spec, std::int64_t width)
{
    json fields = extraFields(spec);
    if (width > 0)
        fields[kMupField] = width;
    else
        fields.erase(kMupField);
    spec.unknownFieldsJson = fields.empty() ? std::string() : fields.dump();
}

} // namespace fourwalls
