// SPDX-License-Identifier: GPL-3.0-or-later
// See machine_file.h.
#include "app/gui/machine_file.h"

#include "views/session/gui_call.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>

namespace fourwalls::gui {

namespace {
constexpr qint64 kLargestMachine = 16 << 20; ///< no description of machines is longer [bytes]
}

Result<MachineFile> readMachineFile(const QString& path)
{
    const std::string where = path.toStdString();
    QFile file(path);
    if (!QFileInfo(path).isFile()) return Error{ErrorCode::NotFound, "there is no such file", where, "check the name"};
    if (!file.open(QIODevice::ReadOnly))
        return Error{ErrorCode::Io, file.errorString().toStdString(), where, "check its permissions"};
    const QByteArray text = file.read(kLargestMachine + 1);
    if (text.size() > kLargestMachine)
        return Error{ErrorCode::Format, "this is too long for a description of machines", where,
                     "fourwalls-cli calibrate -o FILE"};
    MachineFile machine;
    machine.path = path;
    FOURWALLS_TRY_ASSIGN(machine.cluster, clusterSpecFromJson(text.toStdString(), where));
    machine.cluster.name = QFileInfo(path).completeBaseName().toStdString();
    const nlohmann::json object = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
    if (object.is_object() && object.contains("calibration")) {
        FOURWALLS_TRY_ASSIGN(Calibration calibration,
                             calibrationFromJson(object["calibration"].dump(), where + ": calibration"));
        machine.calibration = std::make_shared<const Calibration>(std::move(calibration));
    }
    return machine;
}

void readMachineFileLater(const QString& path, QObject* receiver, std::function<void(const Result<MachineFile>&)> done)
{
    views::runLater(
        receiver, [path] { return readMachineFile(path); }, std::move(done));
}

QString machineFolder()
{
    return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + QStringLiteral("/machines");
}

void readKnownMachines(const QStringList& chosen, QObject* receiver,
                       std::function<void(const std::vector<MachineFile>&)> done)
{
    const auto read = [chosen] {
        QStringList files;
        for (const QFileInfo& each :
             QDir(machineFolder()).entryInfoList({QStringLiteral("*.json")}, QDir::Files, QDir::Name))
            files.append(each.absoluteFilePath());
        for (auto each = chosen.crbegin(); each != chosen.crend(); ++each) {
            files.removeAll(*each);
            files.append(*each);
        }
        std::vector<MachineFile> machines;
        for (const QString& path : files)
            if (Result<MachineFile> machine = readMachineFile(path); machine.ok())
                machines.push_back(std::move(*machine));
        return machines;
    };
    views::runLater(receiver, read, std::move(done));
}

} // namespace fourwalls::gui
