// SPDX-License-Identifier: Apache-2.0
// Every real profile, 20 damaged copies of each kind: the whole of what tests/model/import/tst_import_mutations.cpp does
// a part of in every run. FOURWALLS_TRACES adds the larger set.
#include <QtTest>

#include "tests/model/import/damaged_files.h"
#include "tests/model/import/facts_table.h"
#include "tests/support/test_program.h"

namespace tst_damaged_profiles {

using namespace fourwalls::importers::test;

class DamagedProfilesTest : public QObject {
    Q_OBJECT

private slots:
    void damaged_data()
    {
        QTest::addColumn<QString>("path");
        for (const std::string& folder : {committedFolder(), largerFolder()})
            if (!folder.empty())
                for (const FactsRow& row : factsTable(folder))
                    QTest::newRow(row.path.c_str()) << QString::fromStdString(row.path);
    }
    void damaged()
    {
        QFETCH(QString, path);
        const std::string wrong = importDamagedCopies(path.toStdString(), 20);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }
};

FOURWALLS_TEST(DamagedProfilesTest, QCoreApplication)

} // namespace tst_damaged_profiles

#include "tst_damaged_profiles.moc"
