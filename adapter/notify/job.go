package notify

import "github.com/bookside/bookside/adapter/text"

// SettingsJSON returns the column settings of the job's row: its actions with their
// content (OsProcessJobModel, LatePoint 5.6.5). activityData is that of the job's
// Subject. The column holds 64 KiB.
func (j Job) SettingsJSON(activityData any) (string, error) {
	var info, data object
	for _, a := range j.Actions {
		info = info.set(a.ID, object{{"type", a.Type}})
		data = data.set(a.ID, a.settings(activityData))
	}
	return text.EncodePHP(object{{"action_info", info}, {"action_data", data}})
}

// settings returns what the plugin needs to run the action.
func (a Action) settings(activityData any) object {
	settings := object{{"activity_data", activityData}}
	switch a.Type {
	case SendSMS:
		return append(settings, member{"to", a.To}, member{"content", a.Content})
	case TriggerWebhook:
		return append(settings, member{"content", a.Data}, member{"url", a.URL})
	default:
		return append(settings, member{"to", a.To}, member{"subject", a.Subject}, member{"content", a.Content}, member{"attachments", a.Attachments})
	}
}

// InfoJSON returns the column process_info of the job's row.
func (j Job) InfoJSON() (string, error) {
	return text.EncodePHP(object{{"name", j.Name}, {"event_type", j.EventType}})
}
