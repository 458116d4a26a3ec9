// SPDX-License-Identifier: Apache-2.0
// The JSON form of a run's specification, both ways; fields that this version does not know survive the round trip.
#include "model/base/fnv_hash.h"
#include "model/spec/cluster_json.h"
#include "model/spec/json_fields.h"
#include "model/spec/model_extents.h"
#include "model/spec/run_spec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace fourwalls {

namespace {

using nlohmann::json;

constexpr std::int64_t kMillion = 1'000'000;
constexpr double kLargestRate = 1e24;
constexpr std::string_view kSpecName = "run specification";

json modelToJson(const ModelSpec& model)
{
    json object{{"name", model.name}};
    if (const TransformerSpec* t = model.transformer()) {
        object["kind"] = "transformer";
        // Extents of special architectures are written only where they are used: plain models keep their text and hash.
        for (const TransformerExtent& extent : kTransformerExtents)
            if (extent.kind != TransformerExtent::Kind::Special || t->*extent.field > 0)
                object[extent.key] = t->*extent.field;
        object["positions"] = wordOf(kPositionWords, t->positions);
        object["activation"] = wordOf(kActivationWords, t->activation);
        object["normalization"] = wordOf(kNormalizationWords, t->normalization);
        object["biases"] = t->biases;
        object["tied_embeddings"] = t->tiedEmbeddings;
        object["causal"] = t->causal;
        object["embedding_norm"] = t->embeddingNorm;
        if (t->postNorm) object["post_norm"] = true;
        if (t->hasExperts())
            object["mixture"] = {{"experts", t->mixture.experts},
                                 {"top_k", t->mixture.topK},
                                 {"expert_hidden", t->mixture.expertHidden},
                                 {"shared_hidden", t->mixture.sharedHidden},
                                 {"every", t->mixture.every},
                                 {"dense_layers", t->mixture.denseLayers}};
        if (t->mixture.groups > 1) {
            object["mixture"]["groups"] = t->mixture.groups;
            object["mixture"]["top_groups"] = t->mixture.topGroups;
        }
        if (t->latent.keyValueRank > 0)
            object["latent_attention"] = {{"query_rank", t->latent.queryRank},
                                          {"key_value_rank", t->latent.keyValueRank},
                                          {"rotary_width", t->latent.rotaryWidth},
                                          {"value_width", t->latent.valueWidth}};
    } else if (const RecommendationSpec* r = model.recommendation()) {
        object["kind"] = "recommendation";
        object["tables"] = r->tables;
        object["rows_per_table"] = r->rowsPerTable;
        object["embedding_width"] = r->embeddingWidth;
        object["lookups_per_table"] = r->lookupsPerTable;
        object["dense_features"] = r->denseFeatures;
        object["bottom_layers"] = r->bottomLayers;
        object["top_layers"] = r->topLayers;
    } else {
        const ResNetSpec& resnet = *model.resnet();
        object["kind"] = "resnet";
        object["depth"] = resnet.depth;
        object["image_size"] = resnet.imageSize;
        object["classes"] = resnet.classes;
    }
    return object;
}

json trainingToJson(const TrainingSettings& t)
{
    json object{{"steps", t.steps},
                {"batch", t.batch},
                {"sequence", t.sequence},
                {"optimizer", name(t.optimizer)},
                {"learning_rate", t.learningRate},
                {"warmup_fraction", t.warmupFraction},
                {"weight_decay", t.weightDecay},
                {"clip_norm", t.clipNorm},
                {"beta1", t.beta1},
                {"beta2", t.beta2},
                {"epsilon", t.epsilon},
                {"momentum", t.momentum},
                {"precision", name(t.precision)},
                {"device", name(t.device)},
                {"seed", t.seed},
                {"data_file", t.dataFile}};
    if (t.loraRank > 0) object["lora_rank"] = t.loraRank;
    return object;
}

json knownToJson(const RunSpec& spec)
{
    return {{"spec_version", kSpecVersion},           {"model", modelToJson(spec.model)},
            {"plan", formatPlan(spec.plan)},          {"training", trainingToJson(spec.training)},
            {"cluster", clusterToJson(spec.cluster)}, {"framework", spec.framework}};
}

/// What `given` has and `known` has not, object by object; null if nothing.
json difference(const json& given, const json& known)
{
    json unknown;
    for (const auto& [key, value] : given.items()) {
        const auto found = known.find(key);
        if (found == known.end()) {
            unknown[key] = value;
        } else if (value.is_object() && found->is_object()) {
            json inside = difference(value, *found);
            if (!inside.is_null()) unknown[key] = std::move(inside);
        }
    }
    return unknown;
}

void addUnknown(json& known, const json& unknown)
{
    for (const auto& [key, value] : unknown.items()) {
        const auto found = known.find(key);
        if (found == known.end())
            known[key] = value;
        else if (found->is_object() && value.is_object())
            addUnknown(*found, value);
    }
}

/// Text that is not UTF-8 (a file name of another system) gets replacement characters instead of an exception.
std::string dump(const json& object)
{
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// "mixture" and "latent_attention" of a transformer.
Status readSpecialParts(const JsonFields& root, const json* mixture, const json* latent, std::string_view where,
                        std::string_view path, TransformerSpec& t)
{
    FOURWALLS_TRY(root.status());
    const std::string prefix = path.empty() ? "" : std::string(path) + ".";
    if (mixture) {
        ExpertSpec& e = t.mixture;
        JsonFields fields(*mixture, where, prefix + "mixture");
        e.expertHidden = t.ffnHidden;
        fields.integer("experts", e.experts, 0, kMillion, true);
        fields.integer("top_k", e.topK, 1, kMillion);
        fields.integer("expert_hidden", e.expertHidden, 1, 10 * kMillion);
        fields.integer("shared_hidden", e.sharedHidden, 0, 10 * kMillion);
        fields.integer("every", e.every, 1, 100'000);
        fields.integer("dense_layers", e.denseLayers, 0, 100'000);
        fields.integer("groups", e.groups, 1, kMillion);
        fields.integer("top_groups", e.topGroups, 1, kMillion);
        if (fields.status().ok() && e.experts > 0 && e.topK > e.experts)
            fields.fail("top_k", "is larger than the number of experts");
        if (fields.status().ok() && e.experts % e.groups != 0)
            fields.fail("groups", "does not divide the number of experts");
        if (fields.status().ok() && e.topGroups > e.groups)
            fields.fail("top_groups", "is larger than the number of groups");
        if (fields.status().ok() && e.topK > e.experts / e.groups * e.topGroups)
            fields.fail("top_k", "is larger than the number of experts in top_groups groups");
        FOURWALLS_TRY(fields.status());
    }
    if (latent) {
        LatentAttentionSpec& l = t.latent;
        JsonFields fields(*latent, where, prefix + "latent_attention");
        fields.integer("query_rank", l.queryRank, 0, kMillion);
        fields.integer("key_value_rank", l.keyValueRank, 1, kMillion, true);
        fields.integer("rotary_width", l.rotaryWidth, 0, kMillion);
        l.valueWidth = t.headSize();
        fields.integer("value_width", l.valueWidth, 1, kMillion);
        FOURWALLS_TRY(fields.status());
    }
    return {};
}

/// A list of layer widths, each at least one.
void readWidths(JsonFields& fields, const char* key, std::vector<std::int64_t>& widths)
{
    const json* list = fields.find(key, true);
    if (!list) return;
    if (!list->is_array() || list->empty() || list->size() > 100) {
        fields.fail(key, "must be a list of layer widths", "[512, 256, 64]");
        return;
    }
    for (const json& width : *list) {
        if (!width.is_number_integer() || width.get<double>() < 1 || width.get<double>() > 1e6) {
            fields.fail(key, "holds a width that is not a whole number from 1 to 1000000");
            return;
        }
        widths.push_back(width.get<std::int64_t>());
    }
}

Result<ModelSpec> readRecommendation(ModelSpec model, JsonFields fields)
{
    RecommendationSpec r;
    fields.integer("tables", r.tables, 1, 10'000, true);
    fields.integer("rows_per_table", r.rowsPerTable, 1, 10'000 * kMillion, true);
    fields.integer("embedding_width", r.embeddingWidth, 1, 100'000, true);
    fields.integer("lookups_per_table", r.lookupsPerTable, 1, kMillion);
    fields.integer("dense_features", r.denseFeatures, 1, kMillion, true);
    readWidths(fields, "bottom_layers", r.bottomLayers);
    readWidths(fields, "top_layers", r.topLayers);
    if (fields.status().ok() && r.bottomLayers.back() != r.embeddingWidth)
        fields.fail("bottom_layers", "does not end in the embedding width",
                    fmt::format("a last width of {}", r.embeddingWidth));
    if (fields.status().ok() && r.topLayers.back() != 1)
        fields.fail("top_layers", "does not end in one logit", "a last width of 1");
    FOURWALLS_TRY(fields.status());
    model.architecture = r;
    if (const Status fits = checkExtents(model); !fits.ok())
        return Error{ErrorCode::Format, fits.error().what, fits.error().where, fits.error().hint};
    return model;
}

Result<ModelSpec> readModel(const json& object, std::string_view where, std::string_view path)
{
    ModelSpec model;
    JsonFields fields(object, where, path);
    std::string kind = "transformer";
    fields.text("name", model.name);
    fields.text("kind", kind);
    if (kind == "resnet") {
        ResNetSpec resnet;
        fields.integer("depth", resnet.depth, 50, 152, true);
        fields.integer("image_size", resnet.imageSize, 32, 8192);
        fields.integer("classes", resnet.classes, 2, kMillion);
        if (resnet.depth != 50 && resnet.depth != 101 && resnet.depth != 152)
            fields.fail("depth", "is not a known depth", "50, 101 or 152");
        FOURWALLS_TRY(fields.status());
        model.architecture = resnet;
        return model;
    }
    if (kind == "recommendation") return readRecommendation(std::move(model), fields);
    if (kind != "transformer") fields.fail("kind", "cannot be '" + kind + "'", "transformer, resnet or recommendation");
    TransformerSpec t;
    const auto readExtents = [&](bool required) {
        for (const TransformerExtent& extent : kTransformerExtents)
            if ((extent.kind == TransformerExtent::Kind::Required) == required)
                fields.integer(extent.key, t.*extent.field, extent.least, extent.most, required);
    };
    readExtents(true);
    t.kvHeads = t.heads;
    t.ffnHidden = 4 * t.hidden;
    readExtents(false);
    fields.word("positions", kPositionWords, t.positions);
    fields.word("activation", kActivationWords, t.activation);
    fields.word("normalization", kNormalizationWords, t.normalization);
    fields.flag("biases", t.biases);
    fields.flag("tied_embeddings", t.tiedEmbeddings);
    fields.flag("causal", t.causal);
    fields.flag("embedding_norm", t.embeddingNorm);
    fields.flag("post_norm", t.postNorm);
    const json* mixture = fields.find("mixture", false);
    const json* latent = fields.find("latent_attention", false);
    if (fields.status().ok() && t.headWidth == 0 && t.hidden % t.heads != 0)
        fields.fail("hidden", "is not a multiple of heads");
    if (fields.status().ok() && t.heads % t.kvHeads != 0) fields.fail("kv_heads", "does not divide heads");
    FOURWALLS_TRY(readSpecialParts(fields, mixture, latent, where, path, t));
    model.architecture = t;
    if (const Status fits = checkExtents(model); !fits.ok())
        return Error{ErrorCode::Format, fits.error().what, std::string(where) + ", " + fits.error().where,
                     fits.error().hint};
    return model;
}

Result<TrainingSettings> readTraining(const json& object)
{
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    TrainingSettings t;
    JsonFields fields(object, kSpecName, "training");
    fields.integer("steps", t.steps, 0, kMost);
    fields.integer("batch", t.batch, 0, kMost);
    fields.integer("sequence", t.sequence, 0, kMost);
    fields.integer("lora_rank", t.loraRank, 0, 1'000'000);
    fields.word("optimizer", kOptimizerWords, t.optimizer);
    fields.number("learning_rate", t.learningRate, 0, kMostLearningRate);
    fields.number("warmup_fraction", t.warmupFraction, 0, 1);
    fields.number("weight_decay", t.weightDecay, 0, kMostWeightDecay);
    fields.number("clip_norm", t.clipNorm, 0, 1e30);
    fields.number("beta1", t.beta1, 0, 1);
    fields.number("beta2", t.beta2, 0, 1);
    fields.number("epsilon", t.epsilon, 0, 1);
    fields.number("momentum", t.momentum, 0, 1);
    fields.word("precision", kPrecisionWords, t.precision);
    fields.word("device", kDeviceKindWords, t.device);
    fields.unsignedInteger("seed", t.seed);
    fields.text("data_file", t.dataFile);
    FOURWALLS_TRY(fields.status());
    return t;
}

} // namespace

std::string toJson(const RunSpec& spec)
{
    json object = knownToJson(spec);
    if (!spec.unknownFieldsJson.empty()) {
        const json unknown = json::parse(spec.unknownFieldsJson, nullptr, false);
        if (unknown.is_object()) addUnknown(object, unknown);
    }
    return dump(object);
}

Result<RunSpec> runSpecFromJson(std::string_view text)
{
    FOURWALLS_TRY_ASSIGN(const json object, parseJson(text, kSpecName));
    JsonFields fields(object, kSpecName, "");
    std::int64_t version = 0;
    fields.integer("spec_version", version, 1, kMillion, true);
    FOURWALLS_TRY(fields.status());
    if (version > kSpecVersion)
        return Error{ErrorCode::Unsupported,
                     fmt::format("version {} is newer than this program understands ({})", version, kSpecVersion),
                     std::string(kSpecName), "a newer version of Fourwalls"};
    RunSpec spec;
    std::string plan;
    fields.text("plan", plan);
    fields.text("framework", spec.framework);
    const json* model = fields.find("model", true);
    const json* training = fields.find("training", false);
    const json* cluster = fields.find("cluster", false);
    FOURWALLS_TRY(fields.status());
    FOURWALLS_TRY_ASSIGN(spec.model, readModel(*model, kSpecName, "model"));
    const Result<ParallelPlan> parsed = parsePlan(plan);
    if (!parsed) return Error{ErrorCode::Format, parsed.error().what, "run specification, plan", parsed.error().hint};
    spec.plan = *parsed;
    if (training) {
        FOURWALLS_TRY_ASSIGN(spec.training, readTraining(*training));
    }
    if (cluster) {
        FOURWALLS_TRY_ASSIGN(spec.cluster, readCluster(*cluster, kSpecName, "cluster"));
    }
    const json unknown = difference(object, knownToJson(spec));
    if (!unknown.is_null()) spec.unknownFieldsJson = dump(unknown);
    return spec;
}

Result<ModelSpec> modelSpecFromJson(std::string_view text, std::string_view where)
{
    FOURWALLS_TRY_ASSIGN(const json object, parseJson(text, where));
    return readModel(object, where, "");
}

std::string specHash(const RunSpec& spec)
{
    return fmt::format("{:016x}", fnvHash(toJson(spec)));
}

} // namespace fourwalls
