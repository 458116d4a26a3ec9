// SPDX-License-Identifier: Apache-2.0
// Importing small texts into memory, for tests.
#pragma once

#include "model/import/import_registry.h"
#include "model/trace/in_memory_trace.h"

#include <QTemporaryDir>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::importers::test {

/// JSON with ' for ": easier to read, and raw strings confuse Qt's moc.
inline std::string js(std::string text)
{
    for (char& c : text)
        if (c == '\'') c = '"';
    return text;
}

inline std::string pathIn(const QTemporaryDir& folder, const std::string& name)
{
    return folder.path().toStdString() + "/" + name;
}

inline std::string writeFile(const QTemporaryDir& folder, const std::string& name, const std::string& bytes)
{
    const std::string path = pathIn(folder, name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

struct Imported {
    std::shared_ptr<const InMemoryTraceData> data; ///< null if the import failed
    std::string error;

    const OpInfo& op(const SliceView& slice) const { return *data->ops[static_cast<std::size_t>(slice.op.value)]; }
    const TrackInfo& track(const SliceView& slice) const
    {
        return data->tracks[static_cast<std::size_t>(slice.track.value)].info;
    }
    /// The first slice of that name; null if there is none.
    const SliceView* slice(const std::string& name) const
    {
        const auto found = std::find_if(data->slices.begin(), data->slices.end(),
                                        [&](const SliceView& s) { return op(s).name == name; });
        return found == data->slices.end() ? nullptr : &*found;
    }
    /// Null if there is none of that name.
    const AuditRecord* auditRecord(const std::string& name) const
    {
        for (const AuditRecord& record : data->info.audit)
            if (record.name == name) return &record;
        return nullptr;
    }
    std::int64_t audit(const std::string& name) const
    {
        const AuditRecord* record = auditRecord(name);
        return record ? record->count : 0;
    }
};

inline Imported importPaths(const std::vector<std::string>& paths, const ImportOptions& options = {})
{
    Imported result;
    const auto import = openImport(paths, options);
    if (!import.ok()) {
        result.error = import.error().message();
        return result;
    }
    InMemoryTrace trace((*import)->header());
    const Status written = (*import)->write(trace, options);
    if (!written.ok()) {
        result.error = written.error().message();
        return result;
    }
    const Status finished = trace.finish((*import)->closing());
    if (!finished.ok()) result.error = finished.error().message();
    result.data = trace.data();
    return result;
}

inline Imported importText(const std::string& text, const std::string& name = "trace.json")
{
    const QTemporaryDir folder;
    return importPaths({writeFile(folder, name, text)});
}

} // namespace fourwalls::importers::test
