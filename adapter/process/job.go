package process

// SettingsJSON is the column settings of the job's row: what its actions are and
// what they say (OsProcessJobModel, LatePoint 5.6.5).
func (j Job) SettingsJSON(activityData any) (string, error) {
	settings := jobSettings{Info: map[string]actionInfo{}, Data: map[string]actionData{}}
	for _, a := range j.Actions {
		settings.Info[a.ID] = actionInfo{a.Type}
		settings.Data[a.ID] = actionData{ActivityData: activityData, To: a.To, Subject: a.Subject, Content: a.Content, Attachments: a.Attachments}
	}
	return EncodePHP(settings)
}

// InfoJSON is the column process_info of the job's row.
func (j Job) InfoJSON() (string, error) {
	return EncodePHP(struct {
		Name      string `json:"name"`
		EventType string `json:"event_type"`
	}{j.Name, j.EventType})
}

type jobSettings struct {
	Info map[string]actionInfo `json:"action_info"`
	Data map[string]actionData `json:"action_data"`
}

type actionInfo struct {
	Type string `json:"type"`
}

type actionData struct {
	ActivityData any      `json:"activity_data"`
	To           string   `json:"to"`
	Subject      string   `json:"subject"`
	Content      string   `json:"content"`
	Attachments  []string `json:"attachments"`
}
