// SPDX-License-Identifier: Apache-2.0
// Ranks as processes in a test: starts them as a launcher would, with the five variables set.
#pragma once

#include "tests/app/cli/program.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>

#include <memory>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fourwalls::test {

/// A decoder so small that the processes' own start is what takes time.
inline QString tinyModel(const QTemporaryDir& folder)
{
    const QString path = folder.filePath("tiny.json");
    QFile file(path);
    if (file.open(QFile::WriteOnly))
        file.write(R"({"name":"tiny","kind":"transformer","layers":2,"hidden":32,"heads":2,"kv_heads":2,"ffn_hidden":64,
"vocabulary":256,"sequence":16,"positions":"rotary","activation":"swiglu","normalization":"rms_norm","biases":false,
"tied_embeddings":false,"causal":true})");
    return path;
}

inline int unusedPort()
{
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool bound = bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                       getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    close(descriptor);
    return bound ? ntohs(address.sin_port) : 0;
}

/// The processes of one run; those that still run are killed at the end.
class RankProcesses {
public:
    RankProcesses(int world, const QStringList& arguments, int started = -1)
    {
        const QString port = QString::number(unusedPort());
        for (int rank = 0; rank < (started < 0 ? world : started); ++rank) {
            auto process = std::make_unique<QProcess>();
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            environment.insert("RANK", QString::number(rank));
            environment.insert("WORLD_SIZE", QString::number(world));
            environment.insert("LOCAL_RANK", QString::number(rank));
            environment.insert("MASTER_ADDR", "127.0.0.1");
            environment.insert("MASTER_PORT", port);
            process->setProcessEnvironment(environment);
            process->start(programPath(), arguments);
            m_processes.push_back(std::move(process));
        }
    }
    ~RankProcesses()
    {
        for (const auto& process : m_processes) {
            if (process->state() == QProcess::NotRunning) continue;
            process->kill();
            process->waitForFinished();
        }
    }

    QProcess& operator[](int rank) { return *m_processes[static_cast<std::size_t>(rank)]; }

    /// Reads rank 0's messages until one has the words; false if it ended before.
    bool awaitMessage(const QByteArray& words)
    {
        QProcess& first = *m_processes.front();
        first.setReadChannel(QProcess::StandardError);
        while (!said.contains(words)) {
            if (!first.waitForReadyRead(30'000)) return false;
            said += first.readAllStandardError();
        }
        return true;
    }
    /// Waits until a rank has ended; false if it hangs.
    bool ended(int rank, int milliseconds = 30'000)
    {
        QProcess& process = (*this)[rank];
        return process.state() == QProcess::NotRunning || process.waitForFinished(milliseconds) ||
               process.state() == QProcess::NotRunning;
    }
    QByteArray errors(int rank) { return (rank == 0 ? said : QByteArray()) + (*this)[rank].readAllStandardError(); }

    QByteArray said; ///< of rank 0

private:
    std::vector<std::unique_ptr<QProcess>> m_processes;
};

} // namespace fourwalls::test
