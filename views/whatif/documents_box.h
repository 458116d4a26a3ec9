// SPDX-License-Identifier: GPL-3.0-or-later
// The lengths of documents that a plan packs into its sequences: some to choose from, others to type.
#pragma once

#include "model/spec/run_spec.h"

#include <QComboBox>

#include <vector>

namespace fourwalls::views {

class DocumentsBox : public QComboBox {
    Q_OBJECT
public:
    explicit DocumentsBox(QWidget* parent = nullptr);

    /// What the plan says, and lengths that the sequence is a multiple of.
    void showPlan(const RunSpec& spec);

signals:
    /// Others than those of the plan that is shown.
    void chosen(const std::vector<DocumentLength>& documents);
    /// What was typed says no lengths; the plan's are shown again.
    void refused(const QString& reason);

private:
    void take();

    std::vector<DocumentLength> m_shown;
};

} // namespace fourwalls::views
