// SPDX-License-Identifier: Apache-2.0
// A table of kernel times that depends on no machine.
#pragma once

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <cmath>

namespace fourwalls::test {

/// Rewrites a table of kernel times (`--kernel-times`): each kernel takes what its work says, not what this machine needed
/// for it, so how busy the machine is decides nothing in a recording that uses it. False if it cannot be read or written.
inline bool makeKernelsEven(const QString& table)
{
    QFile file(table);
    if (!file.open(QIODevice::ReadWrite)) return false;
    QJsonObject root = QJsonDocument::fromJson(file.readAll()).object();
    QJsonArray kernels = root["kernel_times"].toArray();
    if (kernels.isEmpty()) return false;
    for (QJsonValueRef each : kernels) {
        QJsonObject kernel = each.toObject();
        kernel["ns"] = std::ceil(1000 + kernel["flops"].toDouble() / 20 + kernel["bytes"].toDouble() / 10);
        each = kernel;
    }
    root["kernel_times"] = kernels;
    return file.resize(0) && file.seek(0) && file.write(QJsonDocument(root).toJson()) > 0;
}

} // namespace fourwalls::test
