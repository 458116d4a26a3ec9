// SPDX-License-Identifier: Apache-2.0
// What the tests of the injected module share: they run a program with it and read the spool.
#pragma once

#include "profiler/collect/collector_environment.h"
#include "tests/profiler/collect/whole_spool.h"

#include <QtTest>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::collect {

inline const std::string kBuild = std::string(FOURWALLS_BIN_DIR) + "/..";
inline const std::string kModule = kBuild + "/lib/libfourwalls_collector.so";
inline const std::string kFakeCupti = kBuild + "/lib/fake/libcupti.so.13";
inline const std::string kReplay = std::string(FOURWALLS_BIN_DIR) + "/cupti_replay";
inline const std::string kProgram = std::string(FOURWALLS_BIN_DIR) + "/recorded_program";

/// A library of the toolkit in its usual folders; empty: it is not installed.
inline std::string toolkitLibrary(const std::string& name)
{
    for (const char* folder : {"/usr/local/cuda/lib/", "/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/",
                               "/usr/lib/x86_64-linux-gnu/", "/usr/local/lib/"}) {
        if (std::filesystem::exists(folder + name)) return folder + name;
    }
    return {};
}

/// Runs `recorded_program`, or another program, with the module and stand-ins for CUPTI, the driver and NVML.
class ModuleTest : public QObject {
protected:
    QString m_program = QString::fromStdString(kProgram);
    std::unique_ptr<QTemporaryDir> m_folder;
    QProcess m_process;

    std::string folder() const { return m_folder->path().toStdString(); }

    void begin(const QStringList& arguments, const std::map<QString, QString>& more = {})
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", kEnvSteps, kEnvCapture, kEnvMaxBytes})
            environment.remove(name);
        environment.insert(kEnvSpoolFolder, m_folder->path());
        environment.insert("COLLECTOR", QString::fromStdString(kModule));
        environment.insert("FAKE_CUPTI", QString::fromStdString(kFakeCupti));
        environment.insert("FAKE_DRIVER", QString::fromStdString(kBuild + "/lib/fake/libcuda.so.1"));
        for (const auto& [name, value] : more) environment.insert(name, value);
        m_process.setProcessEnvironment(environment);
        m_process.setProcessChannelMode(QProcess::MergedChannels);
        m_process.start(m_program, arguments);
        QVERIFY(m_process.waitForStarted());
    }

    void end() { QVERIFY(m_process.waitForFinished(20'000)); }

    /// Runs the program and reads its only spool.
    Spool record(const QStringList& arguments, const std::map<QString, QString>& more = {})
    {
        begin(arguments, more);
        end();
        const auto files = spools();
        if (files.size() != 1) {
            qWarning("%zu spools; the program said: %s", files.size(), m_process.readAll().constData());
            return {};
        }
        return readSpool(files.front());
    }

    std::vector<std::string> spools() const
    {
        std::vector<std::string> result;
        for (const auto& entry : std::filesystem::directory_iterator(folder())) result.push_back(entry.path().string());
        std::sort(result.begin(), result.end());
        return result;
    }

    static bool isModuleBuilt() { return std::filesystem::exists(kModule); }
};

} // namespace fourwalls::collect
