// SPDX-License-Identifier: Apache-2.0
// Presets by name, or a user's JSON file by path.
#include "model/spec/calibration.h"
#include "model/spec/framework_preset.h"
#include "model/spec/preset_data.h"
#include "model/spec/run_spec.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fourwalls {

namespace {

std::vector<std::string> presetNames(std::string_view kind)
{
    std::vector<std::string> names;
    for (const PresetFile& preset : embeddedPresets())
        if (preset.kind == kind) names.emplace_back(preset.name);
    return names;
}

std::string joined(const std::vector<std::string>& names)
{
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
}

const PresetFile* findPreset(std::string_view kind, std::string_view name)
{
    for (const PresetFile& preset : embeddedPresets())
        if (preset.kind == kind && preset.name == name) return &preset;
    return nullptr;
}

/// What a name or path stands for, and the name that the thing gets if its text has none.
struct Description {
    std::string text;
    std::string where;
    std::string defaultName;
};

Result<Description> findDescription(std::string_view kind, const std::string& thing, const std::string& nameOrFile)
{
    if (const PresetFile* preset = findPreset(kind, nameOrFile))
        return Description{std::string(preset->json), thing + " preset " + nameOrFile, nameOrFile};

    constexpr std::uintmax_t kLargestFile = 1'000'000;
    const std::filesystem::path path(nameOrFile);
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure))
        return Error{ErrorCode::NotFound, "no " + thing + " preset and no file of that name", "'" + nameOrFile + "'",
                     joined(presetNames(kind)) + ", or a JSON file"};
    if (std::filesystem::file_size(path, failure) > kLargestFile || failure)
        return Error{ErrorCode::Format, "too large for a " + thing + " description", nameOrFile, "a JSON file"};
    std::ifstream file(path, std::ios::binary);
    Description description;
    description.text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) return Error{ErrorCode::Io, "cannot be read", nameOrFile, "check the permissions"};
    description.where = nameOrFile;
    description.defaultName = path.stem().string();
    return description;
}

} // namespace

Result<ModelSpec> loadModel(const std::string& nameOrFile)
{
    FOURWALLS_TRY_ASSIGN(const Description found, findDescription("models", "model", nameOrFile));
    FOURWALLS_TRY_ASSIGN(ModelSpec model, modelSpecFromJson(found.text, found.where));
    if (model.name.empty()) model.name = found.defaultName;
    return model;
}

Result<ClusterSpec> loadCluster(const std::string& nameOrFile)
{
    FOURWALLS_TRY_ASSIGN(const Description found, findDescription("clusters", "cluster", nameOrFile));
    FOURWALLS_TRY_ASSIGN(ClusterSpec cluster, clusterSpecFromJson(found.text, found.where));
    if (cluster.name.empty()) cluster.name = found.defaultName;
    return cluster;
}

Result<FrameworkPreset> loadFramework(const std::string& nameOrFile)
{
    FOURWALLS_TRY_ASSIGN(const Description found, findDescription("frameworks", "framework", nameOrFile));
    FOURWALLS_TRY_ASSIGN(FrameworkPreset framework, frameworkPresetFromJson(found.text, found.where));
    if (framework.name.empty()) framework.name = found.defaultName;
    return framework;
}

Result<Calibration> loadCalibration(const std::string& nameOrFile)
{
    FOURWALLS_TRY_ASSIGN(const Description found, findDescription("calibration", "calibration", nameOrFile));
    return calibrationFromJson(found.text, found.where);
}

Result<std::string_view> devicePresetJson(std::string_view name, std::string_view where)
{
    if (const PresetFile* preset = findPreset("devices", name)) return preset->json;
    return Error{ErrorCode::NotFound, "no device preset '" + std::string(name) + "'", std::string(where),
                 joined(presetNames("devices"))};
}

std::vector<std::string> modelPresetNames()
{
    return presetNames("models");
}
std::vector<std::string> clusterPresetNames()
{
    return presetNames("clusters");
}
std::vector<std::string> frameworkPresetNames()
{
    return presetNames("frameworks");
}

} // namespace fourwalls
