package gateway

import (
	"fmt"

	commonv2 "github.com/solo-io/solo-apis/client-go/common.gloo.solo.io/v2"
	networkingv2 "github.com/solo-io/solo-apis/client-go/networking.gloo.solo.io/v2"
)

var enums = map[string]map[string]int32{
	"kind":         commonv2.DestinationKind_value,
	"failureMode":  networkingv2.RouteTableSpec_FailureMode_value,
	"responseCode": networkingv2.RedirectAction_RedirectResponseCode_value,
	"sortMethod":   networkingv2.DelegateAction_SortMethod_value,
}

// checkEnums fails on a name that an enum does not have. Decoding that passes over unknown fields takes such a name for
// the default, which would send requests somewhere else than where the table says.
func checkEnums(value any) error {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if err := checkEnums(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range value {
			names, known := enums[key]
			name, isText := item.(string)
			_, isDestination := value["ref"] // other objects have kinds of their own
			if _, found := names[name]; known && isText && !found && (key != "kind" || isDestination) {
				return fmt.Errorf("%s: unknown value %q", key, name)
			}
			if err := checkEnums(item); err != nil {
				return err
			}
		}
	}
	return nil
}
