// SPDX-License-Identifier: GPL-3.0-or-later
// What windows under test open traces with: files as the program does, or samples from memory by their name.
#pragma once

#include "model/store/trace_file.h"
#include "tests/support/sample_training.h"
#include "tests/views/whatif/predicted_sample.h"
#include "views/session/trace_session.h"

#include <QFile>
#include <QString>

#include <memory>

namespace fourwalls::tests {

inline views::TraceOpener fileOpener()
{
    return [](const QString& path) { return store::openTrace(QFile::encodeName(path).toStdString()); };
}

/// "planned" in a name: a trace with its specification; "broken": none.
inline views::TraceOpener memoryOpener()
{
    static const std::shared_ptr<const InMemoryTraceData> data = sample::training();
    return [](const QString& path) -> Result<std::unique_ptr<TraceQuery>> {
        if (path.contains(QStringLiteral("planned"))) return sample::opener(sample::smallSpec())(path);
        if (path.contains(QStringLiteral("broken")))
            return Error{ErrorCode::Format, "this is not a trace", path.toStdString(), "open a .fourwalls file"};
        return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
    };
}

} // namespace fourwalls::tests
