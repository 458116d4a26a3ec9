// SPDX-License-Identifier: GPL-3.0-or-later
// See documents_box.h.
#include "views/whatif/documents_box.h"

#include "views/plot/theme.h"

#include <QLineEdit>
#include <QRegularExpression>
#include <QSignalBlocker>

namespace fourwalls::views {

DocumentsBox::DocumentsBox(QWidget* parent) : QComboBox(parent)
{
    setObjectName(QStringLiteral("documents"));
    setEditable(true);
    setInsertPolicy(NoInsert);
    setCompleter(nullptr);
    // As in other boxes; the style sheet's for lines of text is larger.
    lineEdit()->setFont(fontOf(TextRole::Small));
    connect(this, &QComboBox::activated, this, &DocumentsBox::take);
    connect(lineEdit(), &QLineEdit::editingFinished, this, &DocumentsBox::take);
}

void DocumentsBox::showPlan(const RunSpec& spec)
{
    if (lineEdit()->hasFocus() && lineEdit()->isModified()) return; // somebody is typing
    const QSignalBlocker quiet(*this);
    m_shown = spec.plan.documents;
    clear();
    addItem(tr("whole sequences"));
    for (const int parts : {2, 4, 8, 16, 32})
        if (spec.training.sequence % parts == 0 && spec.training.sequence > parts)
            addItem(QString::number(spec.training.sequence / parts));
    setEditText(m_shown.empty() ? itemText(0) : QString::fromStdString(documentsText(m_shown)));
    lineEdit()->setCursorPosition(0);
}

void DocumentsBox::take()
{
    std::vector<DocumentLength> documents;
    const QString text = currentText().simplified();
    lineEdit()->setModified(false);
    if (!text.isEmpty() && text != itemText(0)) {
        // Spaces beside a comma or an x say nothing; between numbers they would join them.
        static const QRegularExpression kAround(QStringLiteral("\\s*([,x])\\s*"));
        const QString packed =
            QString(text).replace(kAround, QStringLiteral("\\1")).replace(QLatin1Char(' '), QLatin1Char('?'));
        const auto typed = parsePlan("documents=" + packed.toStdString());
        if (!typed) {
            setEditText(m_shown.empty() ? itemText(0) : QString::fromStdString(documentsText(m_shown)));
            emit refused(tr("Documents are lengths such as 512, or 6x512,3x2048"));
            return;
        }
        documents = typed->documents;
    }
    if (documents != m_shown) emit chosen(documents);
}

} // namespace fourwalls::views
