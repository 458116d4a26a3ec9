// SPDX-License-Identifier: Apache-2.0
// The processor's name from the two forms of /proc/cpuinfo: that of x86-64, and that of ARM, which has numbers.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/device/processor_name.h"
#include "tests/support/test_program.h"

#include <sstream>

namespace tst_processor_name {

class ProcessorName : public QObject {
    Q_OBJECT
private slots:
    void names_data()
    {
        QTest::addColumn<QString>("cpuinfo");
        QTest::addColumn<QString>("name");
        QTest::newRow("x86-64") << "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9654\n"
                                << "AMD EPYC 9654";
        QTest::newRow("Grace") << "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
                                  "CPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n"
                               << "Arm Neoverse V2";
        QTest::newRow("a core unknown here") << "CPU implementer\t: 0x99\nCPU part\t: 0x123\n"
                                             << "ARM processor 0x99/0x123";
        QTest::newRow("half of it") << "CPU implementer\t: 0x41\n"
                                    << "CPU";
        QTest::newRow("nothing") << ""
                                 << "CPU";
    }
    void names()
    {
        QFETCH(QString, cpuinfo);
        QFETCH(QString, name);
        std::istringstream text(cpuinfo.toStdString());
        QCOMPARE(QString::fromStdString(fourwalls::engine::processorNameIn(text)), name);
    }
};

FOURWALLS_TEST(ProcessorName, QCoreApplication)

} // namespace tst_processor_name

#include "tst_processor_name.moc"
