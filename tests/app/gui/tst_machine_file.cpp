// SPDX-License-Identifier: GPL-3.0-or-later
// Machines from a person's own file: what calibrate wrote, a cluster by hand, and what is neither.
#include "app/gui/machine_file.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "tests/views/fail_on_warning.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"
#ifndef Q_MOC_RUN
#include "tests/support/test_program.h"
#include "tests/views/whatif/predicted_sample.h"
#endif

#include <QStandardPaths>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QtTest/QtTest>

namespace tst_machine_file {

using namespace fourwalls;
using namespace fourwalls::gui;

class TestMachineFile : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    std::unique_ptr<tests::FailOnWarning> m_warnings;

    QString write(const char* name, const QByteArray& text) const
    {
        const QString path = m_folder.filePath(QString::fromLatin1(name));
        QFile file(path);
        if (file.open(QIODevice::WriteOnly)) file.write(text);
        return path;
    }
    /// As `fourwalls-cli calibrate` writes it.
    static QByteArray calibrated()
    {
        const QByteArray rates =
            R"({"ramp_seconds":1e-6,"memory_fraction":0.8,"gemm_ceiling":{"f32":0.7},"attention":{},"operators":{}})";
        return R"({"name":"calibrated","device":{"name":"a processor","family":"cpu","memory_bytes":8000000000,)"
               R"("memory_bytes_per_second":1e10,"peak_flops":{"f32":5e10}},"devices_per_node":4,"nodes":1,"fabric":"shared",)"
               R"("node_link":{"bytes_per_second":3e9,"latency_seconds":1e-5},"calibration":{"kernel_seconds":2e-6,)"
               R"("node_link_fraction":0.9,"contention":0.1,"busy_slowdown":1.2,"families":{"cpu":)" +
               rates + R"(,"other":)" + rates + R"(}},"operators":[],"source":"measured"})";
    }

private slots:
    void initTestCase() { QStandardPaths::setTestModeEnabled(true); }
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void readsWhatCalibrateWrites()
    {
        const auto machines = readMachineFile(write("workstation.json", calibrated()));
        QVERIFY2(machines.ok(), machines.ok() ? "" : machines.error().message().c_str());
        QCOMPARE(machines->cluster.name, std::string("workstation"));
        QCOMPARE(machines->cluster.device.name, std::string("a processor"));
        QVERIFY(machines->calibration);
        QCOMPARE(machines->calibration->busySlowdown, 1.2);
        QCOMPARE(machines->calibration->family("cpu").gemmCeiling.at(Precision::F32), 0.7);
    }

    void saysWhatIsWrong()
    {
        QCOMPARE(readMachineFile(m_folder.filePath(QStringLiteral("none.json"))).error().code, ErrorCode::NotFound);
        QCOMPARE(readMachineFile(m_folder.path()).error().code, ErrorCode::NotFound);
        QCOMPARE(readMachineFile(write("text.json", "machines")).error().code, ErrorCode::Format);
        QCOMPARE(readMachineFile(write("other.json", "{\"traceEvents\":[]}")).error().code, ErrorCode::Format);
        QByteArray broken = calibrated();
        broken.replace("\"busy_slowdown\":1.2", "\"busy_slowdown\":-3");
        const auto wrong = readMachineFile(write("broken.json", broken));
        QVERIFY(!wrong.ok());
        QVERIFY2(wrong.error().message().find("busy_slowdown") != std::string::npos, wrong.error().message().c_str());
    }

    void theOneChosenLastComesLast()
    {
        const QString monday = write("monday.json", calibrated()), tuesday = write("tuesday.json", calibrated());
        const QString gone = m_folder.filePath(QStringLiteral("gone.json"));
        QStringList names;
        bool isDone = false;
        const auto read = [&](const QStringList& chosen) {
            isDone = false;
            readKnownMachines(chosen, this, [&](const std::vector<MachineFile>& machines) {
                names.clear();
                for (const MachineFile& each : machines) names.append(QString::fromStdString(each.cluster.name));
                isDone = true;
            });
            return QTest::qWaitFor([&] { return isDone; });
        };
        QVERIFY(read({tuesday, gone, monday}));
        QCOMPARE(names, (QStringList{QStringLiteral("monday"), QStringLiteral("tuesday")}));
        QVERIFY(read({monday, tuesday}));
        QCOMPARE(names, (QStringList{QStringLiteral("tuesday"), QStringLiteral("monday")}));
    }

    void theSlidersTakeThem()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(sample::opener(sample::smallSpec()), settings);
        window.show();
        TraceDocument* document = window.openFile(QStringLiteral("planned.fourwalls"));
        QTRY_VERIFY(document->isOpen());
        window.showWhatIf(true);
        window.useMachines(write("workstation.json", calibrated()));
        QTRY_COMPARE(document->whatIf()->spec()->cluster.name, std::string("workstation"));
        QVERIFY(document->whatIf()->calibration());
        QCOMPARE(document->whatIf()->calibration()->busySlowdown, 1.2);
        QCOMPARE(document->whatIf()->spec()->framework, std::string("fourwalls"));
        // Traces that open later are offered them too.
        TraceDocument* other = window.openFile(QStringLiteral("another.fourwalls"));
        QTRY_VERIFY(other->isOpen());
        QVERIFY(other->whatIf()->machine("workstation"));
        // What cannot be read changes nothing.
        window.useMachines(m_folder.filePath(QStringLiteral("none.json")));
        QVERIFY(QThreadPool::globalInstance()->waitForDone());
        QCoreApplication::processEvents();
        QCOMPARE(document->whatIf()->spec()->cluster.name, std::string("workstation"));
    }
};

FOURWALLS_TEST(TestMachineFile, QApplication)

} // namespace tst_machine_file

#include "tst_machine_file.moc"
